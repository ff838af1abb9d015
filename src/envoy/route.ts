import type {
  envoy_config_route_v3_HeaderMatcher as HeaderMatcher,
  envoy_config_route_v3_Route as RouteMessage,
} from '../gen/messages.ts';
import type { RouteAction } from '../model/proxy-model.ts';
import { formatString } from './format.ts';
import { overwrite } from './headers.ts';
import type { RouteView } from './http-view.ts';
import { errorPage, NOT_FOUND_WITHOUT_ENDPOINTS } from './local-replies.ts';
import { matchMessage } from './match.ts';
import { httpsRedirectMessage, redirectMessage } from './redirect.ts';

/** One route of a host. */
export function routeMessage(view: RouteView): RouteMessage {
  const message = messageFor(view);
  return view.plainOnly ? ({ ...message, match: { ...message.match, headers: [NOT_HTTPS] } } as RouteMessage) : message;
}

function messageFor({ match, action }: RouteView): RouteMessage {
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
      return redirectMessage(match, action.status, formatString(action.location));
    case 'https-redirect':
      return httpsRedirectMessage(match, action);
    case 'respond':
      if (hasOwnBody(action)) return { ...matched, ...responseWithBody(action) };
      return { ...matched, direct_response: { status: action.status }, ...withoutLocation(action) };
  }
}

/** Only just this word counts, as with nginx. */
const NOT_HTTPS: HeaderMatcher = {
  name: 'x-forwarded-proto',
  string_match: { exact: 'https' },
  invert_match: true,
};

type Respond = Extract<RouteAction, { kind: 'respond' }>;

/** The page of a status comes from the connection manager, so only another body is written into the route. */
function hasOwnBody({ status, body }: Respond): boolean {
  return body !== '' && body !== errorPage(status);
}

function responseWithBody(action: Respond) {
  const { status, body } = action;
  return {
    direct_response: { status, body: { inline_string: body } },
    response_headers_to_add: [overwrite('content-type', body.startsWith('<') ? 'text/html' : 'text/plain')],
    ...withoutLocation(action),
  };
}

/** Envoy says that what redirects nowhere is where the request went. */
function withoutLocation({ status }: Respond) {
  return status >= 300 && status < 400 ? { response_headers_to_remove: ['location'] } : {};
}
