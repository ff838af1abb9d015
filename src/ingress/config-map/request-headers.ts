/** Headers of requests, before anything else looks at them. */
import { boolean } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { approximated, HONOURED, refused, whenOn } from '../declaration/support.ts';

export const requestHeaderKeys = configMapKeys({
  'generate-request-id': {
    codec: boolean,
    default: true,
    summary: 'Whether a request without the header `X-Request-ID` gets one. That of a client is always kept.',
    example: 'false',
    envoy: approximated('The id is a UUID, with dashes.', whenOn),
    nginx: HONOURED,
  },
  'enable-underscores-in-headers': {
    codec: boolean,
    default: false,
    summary: 'Whether headers with an underscore in their name reach backends; else they are dropped.',
    example: 'true',
    envoy: HONOURED,
    nginx: HONOURED,
  },
  'ignore-invalid-headers': {
    codec: boolean,
    default: true,
    summary: 'Whether headers with a name that HTTP does not allow are dropped; else they reach backends.',
    example: 'false',
    envoy: refused('Envoy answers such requests 400 in any case, before anything of them reaches a backend'),
    nginx: HONOURED,
  },
});
