import type {
  envoy_config_route_v3_HeaderMatcher as HeaderMatcher,
  envoy_config_route_v3_Route as RouteMessage,
  envoy_config_route_v3_VirtualHost as VirtualHostMessage,
} from '../gen/messages.ts';
import { DEFAULT_HOST } from '../model/proxy-model.ts';
import { withCanaries } from './canaries.ts';
import { hoist } from './hoist.ts';
import type { HostView } from './http-view.ts';
import { KEPT_BODY_BYTES } from './policies/bodies.ts';
import { applyPolicies } from './policies/index.ts';
import { RETRIES } from './policies/retries.ts';
import { otherSpellings } from './protected-paths.ts';
import { routeMessage } from './route.ts';
import { isWildcard } from './server-name-matcher.ts';

/** One host of a route table. What its routes share stands on the host. */
export function virtualHostMessage(view: HostView): VirtualHostMessage {
  return hostMessage(view).message;
}

export interface HostMessage {
  readonly message: VirtualHostMessage;
  /** The message's routes with all that the host says for them, so that they can stand elsewhere. */
  readonly routes: readonly RouteMessage[];
  /** For each of the message's routes the index of the route in the view that it was made of; absent for what every host has. */
  readonly madeOf: readonly (number | undefined)[];
}

export function hostMessage(view: HostView): HostMessage {
  const made = hostRoutes(view);
  const routes = made.map(({ message }) => message);
  const forwards = routes.some((route) => 'route' in route);
  return {
    message: {
      name: view.host,
      domains: [view.host, ...(view.aliases ?? [])],
      ...hoist(routes),
      ...(forwards ? FORWARDING : {}),
    },
    routes,
    madeOf: made.map(({ of }) => of),
  };
}

interface MadeRoute {
  readonly message: RouteMessage;
  readonly of?: number;
}

function hostRoutes({ host, routes, otherwise = [] }: HostView): MadeRoute[] {
  const messages = routes.map((route) => withCanaries(route, applyPolicies(route.policy ?? {}, routeMessage(route))));
  const made: MadeRoute[] = [
    ...otherSpellings(routes, (of) => messages[of] ?? []),
    ...messages.flatMap((ofRoute, of) => ofRoute.map((message) => ({ message, of }))),
  ];
  if (host === DEFAULT_HOST) return [{ message: MALFORMED_HOST }, ...made];
  if (!isWildcard(host)) return made;
  const guard = oneLabelBefore(host.slice(1));
  return [
    ...made.map((route) => ({ ...route, message: guarded(route.message, guard) })),
    ...otherwise.map((message) => ({ message })),
  ];
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

/** A request with an empty or a repeated Host (which Envoy joins by a comma) matches no name, so it arrives at the default host. */
const MALFORMED_HOST: RouteMessage = {
  match: {
    prefix: '/',
    headers: [{ name: ':authority', string_match: { safe_regex: { regex: '.*[,\\s].*|' } } }],
  },
  direct_response: { status: 400 },
};

/** For bodies that may have to be sent again Envoy's default keeps no more than a connection's buffer. */
const FORWARDING = {
  retry_policy: RETRIES,
  request_body_buffer_limit: { value: KEPT_BODY_BYTES },
} satisfies Partial<VirtualHostMessage>;
