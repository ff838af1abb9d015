import type { RoutePolicy } from '../../model/proxy-model.ts';
import { type ApplyPolicy, changeForwards } from './policy.ts';
import { RETRIES } from './retries.ts';

type Timeouts = NonNullable<RoutePolicy['timeouts']>;

/**
 * A backend that is silent for the time to read gives 504, once the request is complete. Nothing in either direction ends the request
 * later, so that the answer is not 408.
 */
export const applyTimeouts: ApplyPolicy<Timeouts> = ({ readSeconds, sendSeconds, bodySeconds = 0 }, routes) =>
  changeForwards(routes, (action) => ({
    route: {
      ...action,
      idle_timeout: { seconds: Math.max(readSeconds, sendSeconds, bodySeconds) + 1 },
      retry_policy: { ...RETRIES, ...action.retry_policy, per_try_idle_timeout: { seconds: readSeconds } },
    },
  }));
