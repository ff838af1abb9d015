import type { envoy_config_route_v3_RetryPolicy as RetryPolicy } from '../../gen/messages.ts';

/**
 * ingress-nginx: `proxy-next-upstream: error timeout`, three tries, the next one at once and at another address; silence of a
 * backend for `proxy-read-timeout` (60 s) counts as a failure. What may have reached a backend is sent again only as the
 * route table says (a `reset` that it adds for idempotent methods). Routes that say nothing else have it from their host.
 */
export const RETRIES: RetryPolicy = {
  retry_on: 'connect-failure,refused-stream,reset-before-request',
  num_retries: { value: 2 },
  per_try_idle_timeout: { seconds: 60 },
  retry_host_predicate: [
    {
      name: 'envoy.retry_host_predicates.previous_hosts',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate',
      },
    },
  ],
  host_selection_retry_max_attempts: 5,
  retry_back_off: { base_interval: { nanos: 1_000_000 }, max_interval: { nanos: 10_000_000 } },
};
