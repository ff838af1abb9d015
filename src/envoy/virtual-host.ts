import type {
  envoy_config_route_v3_HeaderMatcher as HeaderMatcher,
  envoy_config_route_v3_RetryPolicy as RetryPolicy,
  envoy_config_route_v3_Route as RouteMessage,
  envoy_config_route_v3_VirtualHost as VirtualHostMessage,
} from '../gen/messages.ts';
import { DEFAULT_HOST } from '../model/proxy-model.ts';
import { closedSpellings } from './closed-paths.ts';
import type { HostView } from './http-view.ts';
import { routeMessage } from './route.ts';
import { isWildcard } from './server-name-matcher.ts';

/** One host of a route table. What its routes share stands on the host. */
export function virtualHostMessage(view: HostView): VirtualHostMessage {
  const routes = hostRoutes(view);
  const forwards = routes.some((route) => 'route' in route);
  return { name: view.host, domains: [view.host], routes, ...(forwards ? FORWARDING : {}) };
}

function hostRoutes({ host, routes, otherwise = [] }: HostView): RouteMessage[] {
  const messages = [...closedSpellings(routes), ...routes.map(routeMessage)];
  if (host === DEFAULT_HOST) return [MALFORMED_HOST, ...messages];
  if (!isWildcard(host)) return messages;
  const guard = oneLabelBefore(host.slice(1));
  return [...messages.map((route) => guarded(route, guard)), ...otherwise];
}

function guarded(route: RouteMessage, guard: HeaderMatcher): RouteMessage {
  const { match = { prefix: '/' } } = route;
  return { ...route, match: { ...match, headers: [guard, ...(match.headers ?? [])] } };
}

/** Holds for hosts of one label and this suffix, with or without a port: the expression of ingress-nginx. */
function oneLabelBefore(suffix: string): HeaderMatcher {
  const regex = `(?i)[\\w-]+${suffix.replaceAll('.', '\\.')}(?::[0-9]+)?`;
  return { name: ':authority', string_match: { safe_regex: { regex } } };
}

/** How many messages stand before those of the host's own routes. */
export function routeOffset({ host, routes }: Pick<HostView, 'host' | 'routes'>): number {
  return (host === DEFAULT_HOST ? 1 : 0) + closedSpellings(routes).length;
}

/** A request with an empty or a repeated Host (which Envoy joins by a comma) matches no name, so it arrives at the default host. */
const MALFORMED_HOST: RouteMessage = {
  match: {
    prefix: '/',
    headers: [{ name: ':authority', string_match: { safe_regex: { regex: '.*[,\\s].*|' } } }],
  },
  direct_response: { status: 400 },
};

/**
 * ingress-nginx: `proxy-next-upstream: error timeout`, three tries, the next one at once and at another address; silence of a
 * backend for `proxy-read-timeout` (60 s) counts as a failure. What may have reached a backend is sent again only as the
 * route table says (a `reset` that it adds for idempotent methods).
 */
const RETRIES: RetryPolicy = {
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

/** Bodies as large as the filters let through can be sent again; Envoy's default keeps no more than a connection's buffer. */
const FORWARDING = {
  retry_policy: RETRIES,
  request_body_buffer_limit: { value: 1024 * 1024 },
} satisfies Partial<VirtualHostMessage>;
