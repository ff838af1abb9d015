/** Routes for requests that may go to a canary: one for each rule, before that of the primary. */
import {
  envoy_type_v3_FractionalPercent_DenominatorType as Denominator,
  type envoy_config_route_v3_RouteMatch as RouteMatchMessage,
  type envoy_config_route_v3_Route as RouteMessage,
} from '../gen/messages.ts';
import type { Canary, CanaryHeader } from '../model/canary.ts';
import type { HashBy } from '../model/load-balancing.ts';
import { cookiePath, type SessionAffinity } from '../model/session-affinity.ts';
import { applyAffinity } from './affinity.ts';
import { HASH_KEY } from './filters/hash-key.ts';
import type { RouteView } from './http-view.ts';
import { applyHashBy } from './policies/hash-by.ts';

/** A cluster that a route can lead to, with the cookie that keeps a client there. */
interface Side {
  readonly cluster: string;
  readonly affinity?: SessionAffinity;
  /** Of a canary, which chooses its endpoints in its own way; absent: not by a hash. */
  readonly hashBy?: HashBy;
  readonly isCanary: boolean;
}

/**
 * Makes of the messages of a route those for all its clusters, and for the sessions of each: affinity is applied here, since each
 * cluster has a cookie of its own. With one for both, a client could carry the endpoint of one cluster to the other.
 */
export function withCanaries(view: RouteView, messages: readonly RouteMessage[]): readonly RouteMessage[] {
  const { action } = view;
  const affinity = affinityOf(view);
  const canaries = action.kind === 'forward' ? (action.canaries ?? []) : [];
  if (action.kind !== 'forward' || canaries.length === 0)
    return affinity === undefined ? messages : applyAffinity(affinity, messages);
  const primary: Side = { cluster: action.cluster.name, ...(affinity && { affinity }), isCanary: false };
  const choices = choicesOf(primary, canaries);
  return messages.flatMap((message) =>
    choices.flatMap(({ match, side }) => applySide(side, { ...message, match: both(message.match, match) })),
  );
}

/** With the path of the cookie on this route. */
function affinityOf({ match, policy: { affinity } = {} }: RouteView): SessionAffinity | undefined {
  if (affinity === undefined) return undefined;
  const { cookie } = affinity;
  return { ...affinity, cookie: { ...cookie, path: cookiePath(cookie, match) } };
}

/** Which requests go to a cluster; the first that fits decides. */
interface Choice {
  readonly match: Pick<RouteMatchMessage, 'headers' | 'cookies' | 'runtime_fraction'>;
  readonly side: Side;
}

function choicesOf(primary: Side, canaries: readonly Canary[]): Choice[] {
  const sides = canaries.map((canary, index) => ({ canary, side: sideOf(canary, index, primary.affinity) }));
  const sticky = sides.filter(({ side }) => side.affinity !== undefined).map(({ side }) => side);
  return [
    ...(sticky.length === 0 ? [] : [primary, ...sticky]).map(bySession),
    ...sides.flatMap(({ canary, side }) => [
      ...byHeader(canary.header, side, primary),
      ...byCookie(canary.cookie, side, primary),
    ]),
    ...byWeight(sides),
    { match: {}, side: primary },
  ];
}

function sideOf({ cluster, sticky }: Canary, index: number, affinity: SessionAffinity | undefined): Side {
  const { hashBy } = cluster.policy ?? {};
  const side: Side = { cluster: cluster.name, isCanary: true, ...(hashBy && { hashBy }) };
  if (affinity === undefined || !sticky) return side;
  const { cookie } = affinity;
  const name = `${cookie.name}-canary${index === 0 ? '' : `-${index + 1}`}`;
  return { ...side, affinity: { ...affinity, cookie: { ...cookie, name } } };
}

function bySession(side: Side): Choice {
  const name = side.affinity?.cookie.name ?? '';
  return { match: { cookies: [{ name, string_match: { safe_regex: { regex: '.+' } } }] }, side };
}

function byHeader(header: CanaryHeader | undefined, canary: Side, primary: Side): Choice[] {
  if (header === undefined) return [];
  const { name, value, pattern } = header;
  const exact = (text: string, side: Side) => ({ match: { headers: [{ name, string_match: { exact: text } }] }, side });
  if (value !== undefined) return [exact(value, canary)];
  if (pattern === undefined) return [exact('always', canary), exact('never', primary)];
  const regex = `(?s:.*)(?:${pattern})(?s:.*)`;
  return [{ match: { headers: [{ name, string_match: { safe_regex: { regex } } }] }, side: canary }];
}

function byCookie(name: string | undefined, canary: Side, primary: Side): Choice[] {
  if (name === undefined) return [];
  const exact = (text: string, side: Side) => ({ match: { cookies: [{ name, string_match: { exact: text } }] }, side });
  return [exact('always', canary), exact('never', primary)];
}

/** Envoy compares one random number of the request with the share of each route, so the shares add up. */
function byWeight(sides: readonly { readonly canary: Canary; readonly side: Side }[]): Choice[] {
  let sum = 0;
  return sides.flatMap(({ canary, side }) => {
    if (canary.millionths === 0) return [];
    sum += canary.millionths;
    const default_value = { numerator: sum, denominator: Denominator.MILLION };
    return [{ match: { runtime_fraction: { default_value } }, side }];
  });
}

function both(match: RouteMatchMessage = { prefix: '/' }, { headers, cookies, ...others }: Choice['match']) {
  return {
    ...match,
    ...others,
    ...(headers && { headers: [...(match.headers ?? []), ...headers] }),
    ...(cookies && { cookies: [...(match.cookies ?? []), ...cookies] }),
  };
}

function applySide(side: Side, message: RouteMessage): readonly RouteMessage[] {
  if (!('route' in message) || message.route === undefined) return [message];
  const led = { ...message, route: { ...message.route, cluster: side.cluster } } as RouteMessage;
  const routes = side.isCanary ? hashedBy(side.hashBy, led) : [led];
  return side.affinity === undefined ? routes : applyAffinity(side.affinity, routes);
}

/** In place of what the primary's endpoints are chosen by. */
function hashedBy(hashBy: HashBy | undefined, message: RouteMessage): readonly RouteMessage[] {
  if (!('route' in message) || message.route === undefined) return [message];
  const { hash_policy: _, ...route } = message.route;
  const { [HASH_KEY.name ?? '']: __, ...filters } = message.typed_per_filter_config ?? {};
  const { typed_per_filter_config: ___, ...others } = message;
  const bare = {
    ...others,
    route,
    ...(Object.keys(filters).length > 0 && { typed_per_filter_config: filters }),
  } as RouteMessage;
  return hashBy === undefined ? [bare] : applyHashBy(hashBy, [bare]);
}
