/** How a policy of a route becomes messages of Envoy. */
import type {
  envoy_config_core_v3_HeaderValueOption as HeaderValueOption,
  envoy_config_route_v3_RouteAction as RouteActionMessage,
  envoy_config_route_v3_Route as RouteMessage,
} from '../../gen/messages.ts';

/**
 * Makes of the messages for one route those for the route with the policy, in match order. One route may become several: the first of
 * them that matches a request answers it.
 */
export type ApplyPolicy<V> = (value: V, routes: readonly RouteMessage[]) => readonly RouteMessage[];

/** Changes the messages that lead to a backend; redirects and answers of the proxy itself stay as they are. */
export function changeForwards(
  routes: readonly RouteMessage[],
  change: (action: RouteActionMessage, route: RouteMessage) => Partial<RouteMessage>,
): RouteMessage[] {
  return routes.map((route) => {
    if (!('route' in route) || route.route === undefined) return route;
    return { ...route, ...change(route.route, route) } as RouteMessage;
  });
}

/** All paths of an Ingress have the same policies, so that what is made of one, long lists among it, is made once. */
export function oncePer<P extends object, M>(make: (policy: P) => M): (policy: P) => M {
  const made = new WeakMap<P, { readonly message: M }>();
  return (policy) => {
    const { message } = made.get(policy) ?? { message: make(policy) };
    made.set(policy, { message });
    return message;
  };
}

/** Further headers of answers, after those that the route has. */
export function addResponseHeaders(route: RouteMessage, headers: readonly HeaderValueOption[]): RouteMessage {
  if (headers.length === 0) return route;
  return { ...route, response_headers_to_add: [...(route.response_headers_to_add ?? []), ...headers] };
}
