import { annotationFeature } from '../declaration/annotation.ts';
import { choice } from '../declaration/codecs.ts';
import { approximated, HONOURED } from '../declaration/support.ts';

export const connectionHeader = annotationFeature({
  title: 'Connection header for backends',
  keys: {
    'connection-proxy-header': {
      codec: choice('close', 'keep-alive'),
      scope: 'paths',
      risk: 'Low',
      whenInvalid: 'refuse',
      summary: 'The `Connection` header that backends get. Upgrades such as WebSocket do not work with it.',
      example: 'keep-alive',
      envoy: approximated(
        'Envoy writes this header itself: connections to backends are kept, and upgrades work, whatever it says.',
        (header: string) => header !== 'keep-alive',
      ),
      nginx: HONOURED,
    },
  },
  apply(values) {
    const header = values['connection-proxy-header'];
    return header === undefined ? {} : { route: { connectionHeader: header } };
  },
});
