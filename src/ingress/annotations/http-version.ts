import { annotationFeature } from '../declaration/annotation.ts';
import { bodyDeclarations as shared } from '../declaration/bodies.ts';

export const httpVersion = annotationFeature({
  title: 'Version of HTTP',
  keys: {
    'proxy-http-version': {
      ...shared['proxy-http-version'],
      scope: 'service',
      risk: 'Low',
      whenInvalid: 'default',
      configMap: 'proxy-http-version',
    },
  },
  apply: ({ 'proxy-http-version': version }) => (version === undefined ? {} : { cluster: { httpVersion: version } }),
});
