import type {
  envoy_config_route_v3_HeaderMatcher as HeaderMatcher,
  envoy_config_route_v3_RouteMatch as RouteMatchMessage,
  envoy_config_route_v3_Route as RouteMessage,
} from '../../gen/messages.ts';
import { type CorsPolicy, corsHeaders, originPattern } from '../../model/cors.ts';
import { literal } from '../format.ts';
import { overwrite } from '../headers.ts';
import { type ApplyPolicy, addResponseHeaders } from './policy.ts';

/**
 * In front of the routes one for each path that answers `OPTIONS`, which no filter of theirs protects: so does ingress-nginx. Where
 * only some origins are allowed, each route is preceded by the same with the headers, for requests of these. Envoy's own filter
 * answers 200, and preflight requests alone.
 */
export const applyCors: ApplyPolicy<CorsPolicy> = (policy, routes) => {
  const { origins } = policy;
  const from = origins === 'any' ? [] : [originIs(origins)];
  const headers = [
    overwrite('access-control-allow-origin', origins === 'any' ? '*' : '%REQ(ORIGIN)%'),
    ...corsHeaders(policy).map(([name, value]) => overwrite(name, literal(value))),
  ];
  const preflights = pathsOf(routes).map((match) =>
    addResponseHeaders({ match: withHeaders(match, [OPTIONS, ...from]), direct_response: { status: 204 } }, headers),
  );
  if (origins === 'any') return [...preflights, ...routes.map((route) => addResponseHeaders(route, headers))];
  const pairs = routes.flatMap((route) => {
    const { match = {} } = route;
    return [addResponseHeaders({ ...route, match: withHeaders(match as RouteMatchMessage, from) }, headers), route];
  });
  return [...preflights, ...pairs];
};

const OPTIONS: HeaderMatcher = { name: ':method', string_match: { exact: 'OPTIONS' } };

function originIs(origins: Exclude<CorsPolicy['origins'], 'any'>): HeaderMatcher {
  return { name: 'origin', string_match: { safe_regex: { regex: originPattern(origins) } } };
}

/** What the routes say about paths, each once: one path may have become several routes that differ in something else. */
function pathsOf(routes: readonly RouteMessage[]): RouteMatchMessage[] {
  const matches = new Map<string, RouteMatchMessage>();
  for (const { match } of routes) {
    const { path, prefix, path_separated_prefix, safe_regex } = match as Record<string, unknown>;
    const ofPath = { path, prefix, path_separated_prefix, safe_regex };
    const key = JSON.stringify(ofPath);
    if (!matches.has(key)) matches.set(key, JSON.parse(key) as RouteMatchMessage);
  }
  return [...matches.values()];
}

function withHeaders(match: RouteMatchMessage, headers: readonly HeaderMatcher[]): RouteMatchMessage {
  return { ...match, headers: [...headers, ...(match.headers ?? [])] };
}
