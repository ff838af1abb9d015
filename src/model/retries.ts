/** What makes a request be sent to another endpoint; the words of `proxy_next_upstream`. */
export const retryConditions = [
  'error',
  'timeout',
  'invalid_header',
  'http_403',
  'http_404',
  'http_429',
  'http_500',
  'http_502',
  'http_503',
  'http_504',
] as const;

export type RetryCondition = (typeof retryConditions)[number];

export interface Retries {
  /** In the order of `retryConditions`; empty for never. */
  readonly on: readonly RetryCondition[];
  /** Whether POST, LOCK and PATCH are sent again although they may have reached a backend. */
  readonly nonIdempotent: boolean;
  /** How often a request is sent in all, at least once. */
  readonly tries: number;
  /** No try begins later than so many seconds after the first; 0 for no limit. */
  readonly withinSeconds: number;
}

/** As in ingress-nginx. */
export const DEFAULT_RETRIES: Retries = { on: ['error', 'timeout'], nonIdempotent: false, tries: 3, withinSeconds: 0 };
