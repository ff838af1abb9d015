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
