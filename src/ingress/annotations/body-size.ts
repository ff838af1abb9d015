import { annotationFeature } from '../declaration/annotation.ts';
import { size } from '../declaration/codecs.ts';
import { HONOURED } from '../declaration/support.ts';

export const bodySize = annotationFeature({
  title: 'Size of request bodies',
  keys: {
    'proxy-body-size': {
      codec: size,
      scope: 'paths',
      risk: 'Medium',
      whenInvalid: 'default',
      configMap: 'proxy-body-size',
      summary: 'Requests with a larger body are answered 413; `0` for no limit.',
      example: '8m',
      envoy: HONOURED,
      nginx: HONOURED,
    },
  },
  apply(values, { global }) {
    const maxBytes = values['proxy-body-size'] ?? global['proxy-body-size'];
    return maxBytes === DEFAULT_BYTES ? {} : { route: { bodySize: { maxBytes } } };
  },
});

/** Without the policy emitters have the same. */
const DEFAULT_BYTES = 1024 ** 2;
