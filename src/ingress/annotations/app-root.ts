import { annotationFeature } from '../declaration/annotation.ts';
import { HONOURED } from '../declaration/support.ts';
import { templateOf } from '../declaration/template.ts';

export const appRoot = annotationFeature({
  title: 'Application root',
  keys: {
    'app-root': {
      // `/` itself would lead to itself.
      codec: templateOf('a path of letters, digits and / - . _ ~ : $, other than /', /^\/[A-Za-z0-9/\-._~:$]+$/),
      scope: 'host',
      risk: 'Medium',
      whenInvalid: 'default',
      summary: 'Requests for exactly `/` are redirected to this path, on the whole host.',
      example: '/app',
      quirk:
        'It holds for the whole host, also where another Ingress has the path `/`, and before anything that protects it.',
      envoy: HONOURED,
      nginx: HONOURED,
    },
  },
  apply: ({ 'app-root': path }) => (path === undefined ? {} : { host: { appRoot: path } }),
});
