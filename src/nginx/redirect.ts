import type { HttpsRedirect, RouteAction } from '../model/proxy-model.ts';
import type { NginxRedirect } from './config.ts';
import { Expanded } from './quote.ts';
import { expanded } from './variables.ts';

export function redirect({ status, location }: Extract<RouteAction, { kind: 'redirect' }>): NginxRedirect {
  return { status, location: expanded(location) };
}

/** As ingress-nginx writes it: to the host as the client wrote it, without its port. */
export function httpsRedirect({ status, port, keepSlash }: HttpsRedirect): NginxRedirect {
  const host = { variable: 'redirect_host' };
  const uri = { variable: keepSlash ? 'request_uri' : 'redirect_uri' };
  return { status, location: new Expanded(['https://', host, ...(port === undefined ? [] : [`:${port}`]), uri]) };
}
