import type { RoutePolicy } from './proxy-model.ts';

/**
 * What comes before a redirect, or holds for its answer too: a body that is too large is refused, and `OPTIONS` answered, before
 * anything is redirected. What protects a backend is not among it: nothing of a backend is seen there.
 */
const KEPT = ['bodySize', 'cors', 'responseHeaders', 'tracing'] as const satisfies readonly (keyof RoutePolicy)[];

const NOTHING: RoutePolicy = {};

/** Of the policies of a route, those that hold where it redirects. */
export function policyOfRedirect(policy: RoutePolicy): RoutePolicy {
  const kept = KEPT.filter((name) => policy[name] !== undefined).map((name) => [name, policy[name]]);
  return kept.length === 0 ? NOTHING : (Object.fromEntries(kept) as RoutePolicy);
}
