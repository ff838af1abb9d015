import type {
  envoy_config_route_v3_RouteMatch as RouteMatchMessage,
  envoy_config_route_v3_Route as RouteMessage,
} from '../gen/messages.ts';
import type { PathMatch, RouteAction } from '../model/proxy-model.ts';
import { overwrite } from './headers.ts';
import type { RouteView } from './http-view.ts';
import { errorPage, NOT_FOUND_WITHOUT_ENDPOINTS, REDIRECT_TO_HTTPS } from './local-replies.ts';

/** One route of a host. */
export function routeMessage({ match, action }: RouteView): RouteMessage {
  const matched = { match: matchMessage(match) };
  switch (action.kind) {
    case 'forward':
      return {
        ...(action.withoutEndpoints === 404 ? { name: NOT_FOUND_WITHOUT_ENDPOINTS } : {}),
        ...matched,
        // Envoy's default would end every response after 15 s, downloads included.
        route: { cluster: action.cluster.name, timeout: {} },
      };
    case 'redirect':
      return { name: REDIRECT_TO_HTTPS, ...matched, direct_response: { status: action.status } };
    case 'respond':
      if (hasOwnBody(action)) return { ...matched, ...responseWithBody(action) };
      return { ...matched, direct_response: { status: action.status } };
  }
}

export function matchMessage(match: PathMatch): RouteMatchMessage {
  if (match.kind === 'exact') return { path: match.path };
  return match.path === '/' ? { prefix: '/' } : { path_separated_prefix: match.path };
}

type Respond = Extract<RouteAction, { kind: 'respond' }>;

/** The page of a status comes from the connection manager, so only another body is written into the route. */
function hasOwnBody({ status, body }: Respond): boolean {
  return body !== '' && body !== errorPage(status);
}

function responseWithBody({ status, body }: Respond) {
  return {
    direct_response: { status, body: { inline_string: body } },
    response_headers_to_add: [overwrite('content-type', body.startsWith('<') ? 'text/html' : 'text/plain')],
  };
}
