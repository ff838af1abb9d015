/** When a request is sent to another endpoint. */
import { boolean, integer, seconds } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { COUNTED, NO_LIMIT, nextUpstream, SAME_FAILURES } from '../declaration/next-upstream.ts';
import { approximated, HONOURED } from '../declaration/support.ts';

export const retryKeys = configMapKeys({
  'proxy-next-upstream': {
    codec: nextUpstream,
    default: { on: ['error', 'timeout'], nonIdempotent: false },
    shownDefault: 'error timeout',
    summary: 'What makes a request be sent to another endpoint; `off` for nothing.',
    example: 'error timeout http_502 http_503',
    envoy: approximated(SAME_FAILURES),
    nginx: HONOURED,
  },
  'proxy-next-upstream-timeout': {
    codec: seconds,
    default: 0,
    summary: 'No further try begins later than so many seconds after the first; 0 for no limit.',
    example: '30',
    envoy: approximated(COUNTED),
    nginx: HONOURED,
  },
  'proxy-next-upstream-tries': {
    codec: integer({ of: 'tries' }),
    default: 3,
    summary: 'How often a request is sent in all, the first time included.',
    example: '2',
    envoy: approximated(NO_LIMIT),
    nginx: approximated(NO_LIMIT),
  },
  'retry-non-idempotent': {
    codec: boolean,
    default: false,
    summary:
      'Whether POST, LOCK and PATCH are sent to another endpoint although the first one may have got them, as with `non_idempotent` in `proxy-next-upstream`.',
    example: 'true',
    envoy: HONOURED,
    nginx: HONOURED,
  },
});
