import type { envoy_config_route_v3_Route as RouteMessage } from '../gen/messages.ts';
import type { SessionAffinity, SessionCookie } from '../model/session-affinity.ts';
import { exceptCookie } from './filters/answer-rewrite.ts';
import { statefulSession } from './filters/stateful-session.ts';
import { type ApplyPolicy, changeForwards } from './policies/policy.ts';
import { RETRIES } from './policies/retries.ts';

/** `balanced`: the hash of the cookie chooses the endpoint. `persistent`: the cookie names it. */
export const applyAffinity: ApplyPolicy<SessionAffinity> = (affinity, routes) => {
  const { cookie } = affinity;
  if (cookie.noSameSiteFor === undefined) return withCookie(affinity, routes);
  const { sameSite: _, noSameSiteFor: browsers, ...withoutSameSite } = cookie;
  return routes.flatMap((route) => [
    ...withCookie({ ...affinity, cookie: withoutSameSite }, forBrowsers(route, browsers)),
    ...withCookie(affinity, [route]),
  ]);
};

function withCookie({ mode, cookie, changeOnFailure }: SessionAffinity, routes: readonly RouteMessage[]) {
  return changeForwards(routes, (action, route) => {
    const { retry_policy: retries = RETRIES } = action;
    const described = { name: cookie.name, path: cookie.path ?? '/', attributes: attributesOf(cookie) };
    if (mode === 'balanced') {
      // The hash leads to the same endpoint again, unless it is told not to; then each attempt at another is a throw of dice.
      const { retry_host_predicate: _, host_selection_retry_max_attempts: __, ...again } = retries;
      const retry_policy = changeOnFailure ? { ...retries, host_selection_retry_max_attempts: 20 } : again;
      const { typed_per_filter_config: filters } = route;
      return {
        route: { ...action, hash_policy: [{ cookie: { ...described, ttl: {} } }], retry_policy },
        ...(filters && { typed_per_filter_config: exceptCookie(filters, cookie.name) }),
      };
    }
    return {
      typed_per_filter_config: { ...route.typed_per_filter_config, ...statefulSession(described) },
      // A retry would go to any endpoint.
      ...(!changeOnFailure && { route: { ...action, retry_policy: { ...retries, num_retries: { value: 0 } } } }),
    };
  });
}

/** `HttpOnly` is always there. */
function attributesOf({ domain, maxAgeSeconds, sameSite, secure }: SessionCookie) {
  return [
    ...(maxAgeSeconds === undefined ? [] : [{ name: 'Max-Age', value: String(maxAgeSeconds) }]),
    ...(domain === undefined ? [] : [{ name: 'Domain', value: domain }]),
    ...(sameSite === undefined ? [] : [{ name: 'SameSite', value: sameSite }]),
    ...(secure === false ? [] : [{ name: 'Secure', value: '' }]),
  ];
}

function forBrowsers(route: RouteMessage, pattern: string): RouteMessage[] {
  const { match = { prefix: '/' } } = route;
  const browser = { name: 'user-agent', string_match: { safe_regex: { regex: `.*(?:${pattern}).*` } } };
  return [{ ...route, match: { ...match, headers: [...(match.headers ?? []), browser] } }];
}
