/** The redirects that the proxy answers by itself, for what Ingresses ask for. */
import {
  DEFAULT_HOST,
  type HostName,
  type HttpsRedirect,
  type RedirectStatus,
  type RouteAction,
  type VirtualHost,
} from '../model/proxy-model.ts';
import type { Template, TemplatePart, Variable } from '../model/template.ts';
import type { HostEffects } from './declaration/annotation.ts';
import type { NameUse } from './further-names.ts';
import { isWildcard } from './host.ts';
import type { HostNames } from './host-names.ts';

const REDIRECT_STATUSES: readonly number[] = [301, 302, 303, 307, 308] satisfies readonly RedirectStatus[];

export function isRedirectStatus(status: number): status is RedirectStatus {
  return REDIRECT_STATUSES.includes(status);
}

const SCHEME: Variable = { variable: 'forwarded_scheme' };
/** 304 has no body. */
const NOT_MODIFIED = 304;

/** What every path of the Ingress is answered on a host, where it asks for a redirect. */
export function redirectAction({ redirect, portInRedirects }: HostEffects, names: HostNames): RouteAction | undefined {
  if (redirect === undefined) return undefined;
  const { status, url, relative } = redirect;
  if (!isRedirectStatus(status)) return { kind: 'respond', status, body: status === NOT_MODIFIED ? '' : url };
  const port: Template = portInRedirects ? [{ variable: 'port_suffix' }] : [];
  const isOfHost = url.startsWith('/') && !relative;
  return { kind: 'redirect', status, location: isOfHost ? [SCHEME, '://', nameOf(names), ...port, url] : [url] };
}

/** As nginx says the host of a redirect to a path. */
function nameOf({ host, aliases }: HostNames): TemplatePart {
  return aliases !== undefined || host === DEFAULT_HOST || isWildcard(host) ? { variable: 'host' } : host;
}

/** The redirect of exactly `/` to a path, at the host as the client has written it. */
export function appRootAction(path: Template): RouteAction {
  return { kind: 'redirect', status: 302, location: [SCHEME, '://', { variable: 'best_http_host' }, ...path] };
}

/**
 * Whether, and how, requests for a path over plain HTTP are redirected to https.
 * @param tls whether the host has TLS
 */
export function httpsRedirectOf(
  { httpsRedirect, portInRedirects }: HostEffects,
  path: string,
  { tls, httpsPort }: { readonly tls: boolean; readonly httpsPort: number },
): HttpsRedirect | undefined {
  if (httpsRedirect === undefined) return undefined;
  const { withTls, always, status, keepSlash, exempt } = httpsRedirect;
  const isWanted = always || (withTls && tls);
  if (!isWanted || exempt.some((beginning) => path.startsWith(beginning))) return undefined;
  return { status, ...(portInRedirects && { port: httpsPort }), ...(keepSlash && { keepSlash: true }) };
}

/** A host of which only the name is there: every request is sent to `target`, at the port where it came. */
export function redirectingHost(
  host: HostName,
  { of: target, status, forwarded }: Extract<NameUse, { kind: 'redirect' }>,
): VirtualHost {
  const location: Template = [
    SCHEME,
    `://${target}:`,
    { variable: forwarded ? 'forwarded_port' : 'server_port' },
    { variable: 'trimmed_request_uri' },
  ];
  const action: RouteAction = { kind: 'redirect', status, location };
  return { host, routes: [{ match: { kind: 'prefix', path: '/' }, action, policy: {} }], diagnostics: [] };
}
