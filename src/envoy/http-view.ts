/**
 * What the plain `http` route table shows of a host: its routes, with cookies that are sent in the clear, or, where a host redirects to
 * https, the redirect.
 * Working on the model, before anything is encoded, it is equal for most edits of such a host, so they reach one table only.
 */
import { deepEqual } from '../derive.ts';
import type { envoy_config_route_v3_Route as RouteMessage } from '../gen/messages.ts';
import type {
  HostName,
  HttpsRedirect,
  PathMatch,
  Route,
  RouteAction,
  RoutePolicy,
  VirtualHost,
} from '../model/proxy-model.ts';
import { policyOfRedirect } from '../model/redirect-policy.ts';
import { pageOf } from './local-replies.ts';

/** A host as one route table shows it. A `VirtualHost` of the model is one. */
export interface HostView {
  readonly host: HostName;
  /** As in the model. */
  readonly aliases?: readonly HostName[];
  readonly routes: readonly RouteView[];
  /**
   * Only of a wildcard host: the default server's routes in this table. Envoy leads every host that ends like the wildcard here,
   * and those of more labels are not the wildcard's.
   */
  readonly otherwise?: readonly RouteMessage[];
}

export interface RouteView extends Pick<Route, 'match' | 'origin'> {
  readonly action: RouteAction | HttpsRedirectAction;
  /** Only for requests that do not say, in `X-Forwarded-Proto`, that they came over https. */
  readonly plainOnly?: true;
  /** Absent where the action says everything. */
  readonly policy?: RoutePolicy;
}

export interface HttpsRedirectAction extends HttpsRedirect {
  readonly kind: 'https-redirect';
}

/**
 * The host in the `http` route table, `'same'` where it is as in the `https` one. Routes come without their origins: an edit
 * that moves a route inside its Ingress must not look like a change here.
 */
export function httpView(virtualHost: VirtualHost): HostView | 'same' {
  const { host, aliases, routes, passthrough } = virtualHost;
  if (passthrough === undefined && routes.every(isSame)) return 'same';
  return { host, ...(aliases && { aliases }), routes: mergeTail(routes.map(shown)) };
}

/**
 * The host in both tables, where requests say by themselves whether they came over https: what is shown to plain requests stands
 * before what the others get.
 */
export function claimedView({ host, aliases, routes }: VirtualHost): HostView {
  return {
    host,
    ...(aliases && { aliases }),
    routes: routes.flatMap((route): RouteView[] =>
      isSame(route) ? [route] : [{ ...shown(route), plainOnly: true }, route],
    ),
  };
}

/** The host in the `https` route table. */
export function httpsView(virtualHost: VirtualHost): HostView {
  const { host, aliases, passthrough } = virtualHost;
  return passthrough === undefined ? virtualHost : { host, ...(aliases && { aliases }), routes: [MISDIRECTED] };
}

/** Whose TLS is passed through is not meant to be reached on connections whose TLS ends here; clients then open another. */
const MISDIRECTED: RouteView = {
  match: { kind: 'prefix', path: '/' },
  action: { kind: 'respond', status: 421, body: pageOf('421 Misdirected Request') },
};

function isSame({ action, policy }: Route): boolean {
  if (policy.httpsRedirect !== undefined || policy.affinity?.cookie.secure === 'over-tls') return false;
  return action.kind !== 'forward' || action.plainCluster === undefined;
}

function shown({ match, action, policy }: Route): RouteView {
  if (policy.httpsRedirect !== undefined) return redirected(match, policy.httpsRedirect, policy);
  return { match, action: action.kind === 'forward' ? plainForward(action) : action, policy: plainPolicy(policy) };
}

function plainForward(action: Forward): Forward {
  if (action.plainCluster === undefined) return action;
  const { plainCluster, canaries, ...forward } = action;
  return {
    ...forward,
    cluster: plainCluster,
    ...(canaries && {
      canaries: canaries.map((canary) => ({ ...canary, cluster: canary.plainCluster ?? canary.cluster })),
    }),
  };
}

type Forward = Extract<RouteAction, { kind: 'forward' }>;

/** With cookies that browsers send over https alone only where they got them so. */
function plainPolicy(policy: RoutePolicy): RoutePolicy {
  const { affinity } = policy;
  if (affinity?.cookie.secure !== 'over-tls') return policy;
  return { ...policy, affinity: { ...affinity, cookie: { ...affinity.cookie, secure: false } } };
}

function redirected(match: PathMatch, redirect: HttpsRedirect, policy: RoutePolicy): RouteView {
  return { match, action: { kind: 'https-redirect', ...redirect }, policy: policyOfRedirect(policy) };
}

/** Equal redirects at the end, where the last one takes every path, are one. */
function mergeTail(routes: readonly RouteView[]): readonly RouteView[] {
  const last = routes.at(-1);
  if (last?.action.kind !== 'https-redirect' || !isEveryPath(last.match)) return routes;
  const others = routes.findLastIndex((route) => !isSameRedirect(route, last));
  return [...routes.slice(0, others + 1), last];
}

function isSameRedirect({ action, policy }: RouteView, last: RouteView): boolean {
  return deepEqual(action, last.action) && deepEqual(policy, last.policy);
}

function isEveryPath(match: PathMatch): boolean {
  return match.kind === 'prefix' && match.path === '/';
}
