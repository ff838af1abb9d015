import { annotationFeature } from '../declaration/annotation.ts';
import { bodyDeclarations as shared } from '../declaration/bodies.ts';

export const bodySize = annotationFeature({
  title: 'Size of request bodies',
  keys: {
    'proxy-body-size': {
      ...shared['proxy-body-size'],
      scope: 'paths',
      risk: 'Medium',
      whenInvalid: 'default',
      configMap: 'proxy-body-size',
    },
  },
  apply(values, { global }) {
    const maxBytes = values['proxy-body-size'] ?? global['proxy-body-size'];
    return maxBytes === DEFAULT_BYTES ? {} : { route: { bodySize: { maxBytes } } };
  },
});

/** Without the policy emitters have the same. */
const DEFAULT_BYTES = 1024 ** 2;
