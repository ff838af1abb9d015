import { annotationFeature } from '../declaration/annotation.ts';
import { boolean } from '../declaration/codecs.ts';
import { approximated, whenOn } from '../declaration/support.ts';

const NOTHING_PUSHED = approximated(
  'Nothing is pushed: browsers and ingress-nginx gave it up. `Link` headers reach clients.',
  whenOn,
);

export const http2Push = annotationFeature({
  title: 'HTTP/2 push',
  keys: {
    'http2-push-preload': {
      codec: boolean,
      scope: 'paths',
      risk: 'Low',
      whenInvalid: 'refuse',
      default: 'false',
      summary: 'Whether what a backend names in `Link` headers is sent before it is asked for.',
      example: 'true',
      envoy: NOTHING_PUSHED,
      nginx: NOTHING_PUSHED,
    },
  },
});
