/** When a request is sent to another endpoint. */
import { boolean, integer, seconds } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { nextUpstream } from '../declaration/next-upstream.ts';
import { approximated, HONOURED } from '../declaration/support.ts';

/** Of `proxy-next-upstream` with Envoy. */
export const SAME_FAILURES =
  '`timeout` and `invalid_header` stand for `error` too, and a connection that takes too long counts as an `error`. Bodies of more than 1m are not sent again unless `client-body-buffer-size` is larger.';
/** Of `proxy-next-upstream-timeout` with Envoy. */
export const COUNTED =
  'A backend that stays silent is left for another one as often as `proxy-read-timeout` fits into the time; what fails at once is not limited.';
/** Of `proxy-next-upstream-tries` */
export const NO_LIMIT = '0 stands for ten tries.';

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
