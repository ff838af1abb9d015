import {
  envoy_config_route_v3_RedirectAction_RedirectResponseCode as RedirectCode,
  type envoy_config_route_v3_RouteMatch as RouteMatchMessage,
  type envoy_config_route_v3_Route as RouteMessage,
} from '../gen/messages.ts';
import { DEFAULT_HOST, type HostName, type PathMatch, type RouteAction } from '../model/proxy-model.ts';
import { overwrite } from './headers.ts';
import type { RedirectStatus, RouteView } from './http-view.ts';
import { errorPage, NOT_FOUND_WITHOUT_ENDPOINTS } from './local-replies.ts';
import { isWildcard } from './server-name-matcher.ts';

/** One route of a host. */
export function routeMessage(host: HostName, { match, action }: RouteView): RouteMessage {
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
      if (host === DEFAULT_HOST || isWildcard(host)) return { ...matched, ...redirectToHostOfRequest(action.status) };
      return { ...matched, redirect: redirectMessage(host, action.status) };
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

const REDIRECT_CODES: Readonly<Record<RedirectStatus, RedirectCode>> = {
  301: RedirectCode.MOVED_PERMANENTLY,
  302: RedirectCode.FOUND,
  303: RedirectCode.SEE_OTHER,
  307: RedirectCode.TEMPORARY_REDIRECT,
  308: RedirectCode.PERMANENT_REDIRECT,
};

/**
 * The same where the host is known from the request alone. Envoy's redirect would keep its port, so the location is computed: the
 * host without its port, then the path and query without a slash at the end.
 */
function redirectToHostOfRequest(status: RedirectStatus) {
  const host = "re.extract(request.host, '^(.*?)(?::[0-9]+)?$', '\\\\1')";
  const path = "re.extract(request.path, '^(.+?)/?$', '\\\\1')";
  return {
    direct_response: { status },
    response_headers_to_add: [overwrite('location', `https://%CEL(${host})%%CEL(${path})%`)],
  };
}

/** As ingress-nginx does it: to the host without a port, the query kept, a slash at the end of the path dropped. */
function redirectMessage(host: HostName, status: RedirectStatus) {
  return {
    https_redirect: true,
    // Without it Envoy keeps the port of the request, which speaks plain HTTP.
    host_redirect: host,
    response_code: REDIRECT_CODES[status],
    regex_rewrite: { pattern: { regex: '^(.+?)/$' }, substitution: '\\1' },
  };
}
