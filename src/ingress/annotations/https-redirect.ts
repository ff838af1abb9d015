import { annotationFeature } from '../declaration/annotation.ts';
import { boolean } from '../declaration/codecs.ts';
import { HONOURED } from '../declaration/support.ts';

const common = { codec: boolean, scope: 'paths', whenInvalid: 'default', envoy: HONOURED, nginx: HONOURED } as const;

export const httpsRedirect = annotationFeature({
  title: 'Redirect to https',
  keys: {
    'ssl-redirect': {
      ...common,
      risk: 'Low',
      configMap: 'ssl-redirect',
      summary: 'Whether requests over plain HTTP are redirected to https where the host has TLS.',
      example: 'false',
      quirk: 'A slash at the very end of path and query is dropped, unless `preserve-trailing-slash` keeps it.',
    },
    'force-ssl-redirect': {
      ...common,
      risk: 'Medium',
      configMap: 'force-ssl-redirect',
      summary: 'Whether requests over plain HTTP are redirected to https also where the host has no TLS.',
      example: 'true',
    },
    'preserve-trailing-slash': {
      ...common,
      risk: 'Medium',
      configMap: 'preserve-trailing-slash',
      summary: 'Whether the redirect to https keeps a slash at the very end of path and query.',
      example: 'true',
    },
    'use-port-in-redirects': {
      ...common,
      risk: 'Low',
      configMap: 'use-port-in-redirects',
      summary: 'Whether the redirect to https, and `permanent-redirect` to a path, name the port of the proxy.',
      example: 'true',
    },
  },
  apply: (values, { global }) => ({
    host: {
      httpsRedirect: {
        withTls: values['ssl-redirect'] ?? global['ssl-redirect'],
        always: values['force-ssl-redirect'] ?? global['force-ssl-redirect'],
        status: global['http-redirect-code'],
        keepSlash: values['preserve-trailing-slash'] ?? global['preserve-trailing-slash'],
        exempt: global['no-tls-redirect-locations'],
      },
      portInRedirects: values['use-port-in-redirects'] ?? global['use-port-in-redirects'],
    },
  }),
});
