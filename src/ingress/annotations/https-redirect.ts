import { annotationFeature } from '../declaration/annotation.ts';
import { boolean } from '../declaration/codecs.ts';
import { HONOURED } from '../declaration/support.ts';

export const httpsRedirect = annotationFeature({
  title: 'Redirect to https',
  keys: {
    'ssl-redirect': {
      codec: boolean,
      scope: 'paths',
      risk: 'Low',
      whenInvalid: 'default',
      configMap: 'ssl-redirect',
      summary: 'Whether requests over plain HTTP are redirected to https where the host has TLS.',
      example: 'false',
      envoy: HONOURED,
      nginx: HONOURED,
    },
    'force-ssl-redirect': {
      codec: boolean,
      scope: 'paths',
      risk: 'Medium',
      whenInvalid: 'default',
      configMap: 'force-ssl-redirect',
      summary: 'Whether requests over plain HTTP are redirected to https also where the host has no TLS.',
      example: 'true',
      envoy: HONOURED,
      nginx: HONOURED,
    },
  },
  apply: (values, { global }) => ({
    host: {
      httpsRedirect: {
        withTls: values['ssl-redirect'] ?? global['ssl-redirect'],
        always: values['force-ssl-redirect'] ?? global['force-ssl-redirect'],
      },
    },
  }),
});
