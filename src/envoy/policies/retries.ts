import type { envoy_config_route_v3_RetryPolicy as RetryPolicy } from '../../gen/messages.ts';
import type { Retries, RetryCondition } from '../../model/retries.ts';
import { overwrite } from '../headers.ts';
import { type ApplyPolicy, changeForwards } from './policy.ts';

/** ingress-nginx: `proxy-read-timeout: 60` */
const DEFAULT_READ_SECONDS = 60;

/** The next one at once, and at another address. */
const ELSEWHERE = {
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
} satisfies RetryPolicy;

/** What cannot have reached a backend is sent again whatever its method. */
const BEFORE_SENDING = ['connect-failure', 'refused-stream', 'reset-before-request'];

/**
 * ingress-nginx: `proxy-next-upstream: error timeout`, three tries; silence of a backend for `proxy-read-timeout` counts as a
 * failure. What may have reached a backend is sent again only as the route table says (a `reset` that it adds for idempotent
 * methods). Routes that say nothing else have it from their host.
 */
export const RETRIES: RetryPolicy = {
  retry_on: BEFORE_SENDING.join(),
  num_retries: { value: 2 },
  per_try_idle_timeout: { seconds: DEFAULT_READ_SECONDS },
  ...ELSEWHERE,
};

/**
 * After the time-outs, since each try has the time to read. A silent backend that is not to be left for another one is bounded by
 * the idle time-out of the route instead: with both, the one of the try would count as a failure of the connection.
 */
export const applyRetries: ApplyPolicy<Retries> = (retries, routes) =>
  changeForwards(routes, (action, route) => {
    const readSeconds = action.retry_policy?.per_try_idle_timeout?.seconds ?? DEFAULT_READ_SECONDS;
    const silences = silencesWithin(retries, Number(readSeconds));
    const { withSilence, beforeSending, afterSending } = conditions(retries, silences > 1);
    const always = retries.nonIdempotent ? [...beforeSending, ...afterSending] : beforeSending;
    const tries = retries.on.length === 0 ? 1 : withSilence ? Math.min(retries.tries, silences) : retries.tries;
    return {
      ...(tries > 1 && {
        request_headers_to_add: [...(route.request_headers_to_add ?? []), retryOn(afterSending, retries)],
      }),
      route: {
        ...action,
        ...(tries > 1 && !withSilence && { idle_timeout: { seconds: readSeconds } }),
        retry_policy: {
          ...(always.length > 0 && { retry_on: always.join() }),
          num_retries: { value: tries - 1 },
          ...((tries === 1 || withSilence) && { per_try_idle_timeout: { seconds: readSeconds } }),
          ...(tries > 1 && { ...statusCodes(retries), ...ELSEWHERE }),
        },
      },
    };
  });

/** How many tries may begin if every one before is ended by silence. */
function silencesWithin({ withinSeconds }: Retries, readSeconds: number): number {
  return withinSeconds === 0 ? Number.POSITIVE_INFINITY : Math.max(1, Math.ceil(withinSeconds / readSeconds));
}

function conditions({ on }: Retries, hasTime: boolean) {
  const failures = !on.every(isStatus);
  return {
    withSilence: on.includes('timeout') && hasTime,
    beforeSending: failures ? BEFORE_SENDING : [],
    afterSending: [...(failures ? ['reset'] : []), ...(on.some(isStatus) ? ['retriable-status-codes'] : [])],
  };
}

function isStatus(condition: RetryCondition): boolean {
  return condition.startsWith('http_');
}

function statusCodes({ on }: Retries): Partial<RetryPolicy> {
  const codes = on.filter(isStatus).map((condition) => Number(condition.slice('http_'.length)));
  return codes.length === 0 ? {} : { retriable_status_codes: codes };
}

/** In place of what the route table says; a word that means nothing, since an empty value would leave that in force. */
function retryOn(conditions: readonly string[], { nonIdempotent }: Retries) {
  const words = conditions.join() || 'none';
  const value = nonIdempotent ? words : `%CEL(request.method in ['POST', 'LOCK', 'PATCH'] ? 'none' : '${words}')%`;
  return overwrite('x-envoy-retry-on', value);
}
