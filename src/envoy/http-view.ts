/**
 * What the plain `http` route table shows of a host: its routes, or, where a host redirects to https, the redirect.
 * Working on the model, before anything is encoded, it is equal for most edits of such a host, so they reach one table only.
 */
import { deepEqual } from '../derive.ts';
import type { envoy_config_route_v3_Route as RouteMessage } from '../gen/messages.ts';
import type { HostName, PathMatch, Route, RouteAction, RoutePolicy, VirtualHost } from '../model/proxy-model.ts';

/** A host as one route table shows it. A `VirtualHost` of the model is one. */
export interface HostView {
  readonly host: HostName;
  readonly routes: readonly RouteView[];
  /**
   * Only of a wildcard host: the default server's routes in this table. Envoy leads every host that ends like the wildcard here,
   * and those of more labels are not the wildcard's.
   */
  readonly otherwise?: readonly RouteMessage[];
}

export interface RouteView extends Pick<Route, 'match' | 'origin'> {
  readonly action: RouteAction | RedirectAction;
  /** Absent where the action says everything. */
  readonly policy?: RoutePolicy;
}

/** To the same path over https. */
export interface RedirectAction {
  readonly kind: 'redirect';
  readonly status: RedirectStatus;
}

export const REDIRECT_STATUSES = [301, 302, 303, 307, 308] as const satisfies readonly RedirectStatus[];

export type RedirectStatus = NonNullable<RoutePolicy['httpsRedirect']>['status'];

/**
 * The host in the `http` route table, `'same'` where it is as in the `https` one. Routes come without their origins: an edit
 * that moves a route inside its Ingress must not look like a change here.
 */
export function httpView(virtualHost: VirtualHost): HostView | 'same' {
  const { host, routes } = virtualHost;
  if (routes.every(isSame)) return 'same';
  return { host, routes: mergeTail(routes.map(shown)) };
}

function isSame({ action, policy }: Route): boolean {
  return policy.httpsRedirect === undefined && !(action.kind === 'forward' && action.plainCluster !== undefined);
}

function shown({ match, action, policy }: Route): RouteView {
  if (policy.httpsRedirect !== undefined) return redirected(match, policy.httpsRedirect, policy);
  if (action.kind !== 'forward' || action.plainCluster === undefined) return { match, action, policy };
  const { plainCluster, ...forward } = action;
  return { match, action: { ...forward, cluster: plainCluster }, policy };
}

function redirected(
  match: PathMatch,
  { status }: NonNullable<RoutePolicy['httpsRedirect']>,
  policy: RoutePolicy,
): RouteView {
  const kept = KEPT_BY_REDIRECTS.filter((name) => policy[name] !== undefined).map((name) => [name, policy[name]]);
  const action = { kind: 'redirect', status } as const;
  return { match, action, ...(kept.length > 0 && { policy: Object.fromEntries(kept) as RoutePolicy }) };
}

/**
 * What comes before the redirect, or holds for its answer too: a body that is too large is refused, and `OPTIONS` answered, before
 * anything is redirected.
 */
const KEPT_BY_REDIRECTS = ['bodySize', 'cors', 'responseHeaders'] as const satisfies readonly (keyof RoutePolicy)[];

/** Equal redirects at the end, where the last one takes every path, are one. */
function mergeTail(routes: readonly RouteView[]): readonly RouteView[] {
  const last = routes.at(-1);
  if (last?.action.kind !== 'redirect' || !isEveryPath(last.match)) return routes;
  const others = routes.findLastIndex((route) => !isSameRedirect(route, last));
  return [...routes.slice(0, others + 1), last];
}

function isSameRedirect({ action, policy }: RouteView, last: RouteView): boolean {
  return deepEqual(action, last.action) && deepEqual(policy, last.policy);
}

function isEveryPath(match: PathMatch): boolean {
  return match.kind === 'prefix' && match.path === '/';
}
