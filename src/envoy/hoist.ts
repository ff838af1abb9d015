/**
 * What routes of a host say alike to a filter is said once, by the host. Of a route and its host Envoy takes what the route says, as a
 * whole; so a long list costs a host its own length, and not that times the number of its paths.
 */
import type { envoy_config_route_v3_Route as RouteMessage } from '../gen/messages.ts';
import { isOffByDefault } from './http-filters.ts';
import { contentVersion } from './resource.ts';

export type FilterConfigs = NonNullable<RouteMessage['typed_per_filter_config']>;
type FilterConfig = FilterConfigs[string];

export interface Hoisted {
  /** In the order in which they were. */
  readonly routes: readonly RouteMessage[];
  /** For the host; absent where nothing is shared. */
  readonly typed_per_filter_config?: FilterConfigs;
}

/** For each filter what is shared is the configuration by which most is saved. Routes without any then say that they have none. */
export function hoist(routes: readonly RouteMessage[]): Hoisted {
  const shared = new Map<string, FilterConfig>();
  for (const [filter, counts] of countsByFilter(routes)) {
    const best = bestOf(filter, counts, routes.length);
    if (best !== undefined) shared.set(filter, best);
  }
  if (shared.size === 0) return { routes };
  return {
    routes: routes.map((route) => withoutShared(route, shared)),
    typed_per_filter_config: Object.fromEntries(shared),
  };
}

/** How many routes have a configuration. */
type Counts = ReadonlyMap<FilterConfig, number>;

function countsByFilter(routes: readonly RouteMessage[]): Map<string, Counts> {
  const byFilter = new Map<string, Map<FilterConfig, number>>();
  for (const { typed_per_filter_config: configs = {} } of routes) {
    for (const filter in configs) {
      const config = configs[filter] as FilterConfig;
      const counts = byFilter.get(filter);
      if (counts === undefined) byFilter.set(filter, new Map([[config, 1]]));
      else counts.set(config, (counts.get(config) ?? 0) + 1);
    }
  }
  return byFilter;
}

interface Use extends Wording {
  readonly config: FilterConfig;
  /** By how many routes. */
  readonly count: number;
}

/** Those that say the same as one. */
function usesOf(counts: Counts): Use[] {
  const uses = new Map<string, Use>();
  for (const [config, count] of counts) {
    const wording = wordingOf(config);
    const former = uses.get(wording.key);
    uses.set(wording.key, { ...wording, config: former?.config ?? config, count: count + (former?.count ?? 0) });
  }
  return [...uses.values()];
}

const OFF = { '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig', disabled: true } as const;
const OFF_SIZE = JSON.stringify(OFF).length;

/** Filters may also put together what a route and its host say. Those of these types were seen not to. */
const REPLACED: ReadonlySet<FilterConfig['@type']> = new Set([
  'type.googleapis.com/envoy.config.route.v3.FilterConfig',
  'type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault',
  'type.googleapis.com/envoy.extensions.filters.http.filter_chain.v3.FilterChainConfigPerRoute',
  'type.googleapis.com/envoy.extensions.filters.http.lua.v3.LuaPerRoute',
  'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute',
]);

function bestOf(filter: string, counts: Counts, routes: number): FilterConfig | undefined {
  const [first] = counts;
  if (first === undefined) return undefined;
  const [config, count] = first;
  // Mostly all routes have the same object, so that nothing need be measured.
  if (count === routes) return count > 1 ? config : undefined;
  const uses = usesOf(counts);
  const without = routes - uses.reduce((sum, use) => sum + use.count, 0);
  if (without > 0 && !isOffByDefault(filter)) return undefined;
  if (uses.length > 1 && !uses.every((use) => REPLACED.has(use.config['@type']))) return undefined;
  const saved = (use: Use) => (use.count - 1) * use.size - without * OFF_SIZE;
  const best = uses.reduce((a, b) => (saved(b) > saved(a) ? b : a));
  return saved(best) > 0 ? best.config : undefined;
}

function withoutShared(route: RouteMessage, shared: ReadonlyMap<string, FilterConfig>): RouteMessage {
  const { typed_per_filter_config: said = {}, ...rest } = route;
  const configs: Record<string, FilterConfig> = { ...said };
  for (const [filter, config] of shared) {
    const own = said[filter];
    if (own === undefined) configs[filter] = OFF;
    else if (own === config || wordingOf(own).key === wordingOf(config).key) delete configs[filter];
  }
  return { ...rest, ...(Object.keys(configs).length > 0 && { typed_per_filter_config: configs }) } as RouteMessage;
}

/** A configuration that stays with routes. */
export interface Remaining {
  /** Indices of the routes that have it. */
  readonly routes: readonly number[];
  /** Of all of them together, in characters. */
  readonly size: number;
}

/** Shorter ones do not add up to much. */
const LONG = 4096;

/** Long configurations that routes have of their own, those that take most first. */
export function longConfigs(routes: readonly RouteMessage[]): Remaining[] {
  const byKey = new Map<string, { routes: number[]; size: number }>();
  routes.forEach(({ typed_per_filter_config: configs = {} }, route) => {
    for (const filter in configs) {
      const { key, size } = wordingOf(configs[filter] as FilterConfig);
      if (size <= LONG) continue;
      const former = byKey.get(key) ?? { routes: [], size: 0 };
      byKey.set(key, { routes: [...former.routes, route], size: former.size + size });
    }
  });
  return [...byKey.values()].toSorted((a, b) => b.size - a.size);
}

/** Equal keys are equal configurations; `size` grows with what they take. */
interface Wording {
  readonly key: string;
  readonly size: number;
}

/** Routes share what their policies have in common, so that most configurations are asked for many times. */
const wordings = new WeakMap<FilterConfig, Wording>();
const MAX_KEY = 1024;

function wordingOf(config: FilterConfig): Wording {
  const known = wordings.get(config);
  if (known !== undefined) return known;
  const text = JSON.stringify(config);
  const wording = { key: text.length > MAX_KEY ? contentVersion(text) : text, size: text.length };
  wordings.set(config, wording);
  return wording;
}
