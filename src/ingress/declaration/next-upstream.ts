import { type RetryCondition, retryConditions } from '../../model/retries.ts';
import { type Codec, codec } from './codec.ts';

export interface NextUpstream {
  readonly on: readonly RetryCondition[];
  readonly nonIdempotent: boolean;
}

const WORDS: ReadonlySet<string> = new Set([...retryConditions, 'non_idempotent', 'off']);

/** The words of `proxy_next_upstream`. `off` counts more than all others. */
export const nextUpstream: Codec<NextUpstream> = codec(
  `words of ${[...retryConditions, 'non_idempotent'].join(', ')}, or off`,
  (text) => {
    const words = new Set(text.split(' ').filter((word) => word !== ''));
    if (![...words].every((word) => WORDS.has(word))) return undefined;
    const on = words.has('off') ? [] : retryConditions.filter((condition) => words.has(condition));
    return { on, nonIdempotent: words.has('non_idempotent') };
  },
);

/** Of `proxy-next-upstream` with Envoy. */
export const SAME_FAILURES =
  '`timeout` and `invalid_header` stand for `error` too, and a connection that takes too long counts as an `error`. Bodies of more than 1m, or than `client-body-buffer-size` up to 16m, are not sent again.';
/** Of `proxy-next-upstream-timeout` with Envoy. */
export const COUNTED =
  'A backend that stays silent is left for another one as often as `proxy-read-timeout` fits into the time; what fails at once is not limited.';
/** Of `proxy-next-upstream-tries` */
export const NO_LIMIT = '0 stands for ten tries.';
