/** Redirects: answers of Envoy itself, since its own redirects know fewer statuses and rebuild the URL. */
import type { envoy_config_route_v3_Route as RouteMessage } from '../gen/messages.ts';
import type { HttpsRedirect, PathMatch, RedirectStatus } from '../model/proxy-model.ts';
import { HOST, TRIMMED_REQUEST_URI } from './format.ts';
import { overwrite } from './headers.ts';
import { matchMessage } from './match.ts';

/** Name of routes that redirect to https: their answer gets its location. */
export const REDIRECT_TO_HTTPS = 'redirect-to-https';

/** @param location a format string */
export function redirectMessage(match: PathMatch, status: RedirectStatus, location: string): RouteMessage {
  return {
    match: matchMessage(match),
    direct_response: { status },
    // In place of what Envoy puts there: where the request went.
    response_headers_to_add: [overwrite('location', location)],
  };
}

/** The usual location is known by the name of the route alone, so that hosts take few bytes. */
export function httpsRedirectMessage(match: PathMatch, { status, port, keepSlash }: HttpsRedirect): RouteMessage {
  if (port === undefined && !keepSlash)
    return { name: REDIRECT_TO_HTTPS, match: matchMessage(match), direct_response: { status } };
  return redirectMessage(
    match,
    status,
    httpsLocation({ ...(port !== undefined && { port }), ...(keepSlash && { keepSlash }) }),
  );
}

/** As ingress-nginx writes it: to the host as the client wrote it, without its port. */
export function httpsLocation({ port, keepSlash }: Omit<HttpsRedirect, 'status'>): string {
  const uri = keepSlash ? '%REQ(:PATH)%' : TRIMMED_REQUEST_URI;
  return `https://${HOST}${port === undefined ? '' : `:${port}`}${uri}`;
}
