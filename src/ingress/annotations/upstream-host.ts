import { annotationFeature } from '../declaration/annotation.ts';
import { type BackendTemplate, parseBackendTemplate } from '../declaration/backend-template.ts';
import type { Codec } from '../declaration/codec.ts';
import { textOf } from '../declaration/codecs.ts';
import { HONOURED } from '../declaration/support.ts';

const characters = textOf('regex', 'a host');

const upstreamHostText: Codec<BackendTemplate> = {
  expects: characters.expects,
  decode(text) {
    const decoded = characters.decode(text.replaceAll(' ', ''));
    return 'value' in decoded ? parseBackendTemplate(decoded.value) : decoded;
  },
};

export const upstreamHost = annotationFeature({
  title: 'Host for backends',
  keys: {
    'upstream-vhost': {
      codec: upstreamHostText,
      scope: 'paths',
      risk: 'Low',
      whenInvalid: 'refuse',
      default: 'the Host of the request',
      defaultInWords: true,
      summary:
        'The Host that backends get; variables of nginx may stand in it, also $namespace, $ingress_name, $service_name and $service_port. X-Forwarded-Host stays that of the request.',
      example: 'shop.internal.example.com',
      envoy: HONOURED,
      nginx: HONOURED,
    },
  },
  apply: ({ 'upstream-vhost': value }) => (value === undefined ? {} : { host: { upstreamHost: value } }),
});
