/** Headers that every location has, and what some policies of a route make of headers. */
import { type CorsPolicy, corsHeaders, originPattern } from '../model/cors.ts';
import type { HeaderChanges, HeaderTemplate } from '../model/headers.ts';
import type { ForwardedSettings, ProxySettings } from '../model/settings.ts';
import type { NginxHeader, NginxSettings } from './config.ts';
import type { LocationPatch } from './policies.ts';
import { Expanded, Pattern } from './quote.ts';
import { expanded } from './variables.ts';

/** What a backend learns of the client and of the request as it came. */
function requestHeaders({
  appendsPeer,
  forwardedForHeader,
  forwardedHostHeader,
}: ForwardedSettings): readonly NginxHeader[] {
  return [
    header('Host', 'best_http_host'),
    header('Upgrade', 'http_upgrade'),
    header('Connection', 'connection_upgrade'),
    header('X-Request-ID', 'req_id'),
    header('X-Real-IP', 'remote_addr'),
    header('X-Forwarded-For', appendsPeer ? 'full_x_forwarded_for' : 'remote_addr'),
    header('X-Forwarded-Host', 'best_http_host'),
    header('X-Forwarded-Port', 'pass_port'),
    header('X-Forwarded-Proto', 'pass_access_scheme'),
    header('X-Forwarded-Scheme', 'pass_access_scheme'),
    header('X-Scheme', 'pass_access_scheme'),
    header('X-Original-Forwarded-For', variableOf(forwardedForHeader)),
    header('X-Original-Forwarded-Host', variableOf(forwardedHostHeader)),
    // Programs behind CGI would take it for their own proxy.
    { name: 'Proxy', value: '' },
  ];
}

/** The variable that holds a header of the request. */
function variableOf(name: string): string {
  return `http_${name.replaceAll('-', '_')}`;
}

/** What the settings say about headers. */
export function headersOfAll({
  headers,
  forwarded,
}: ProxySettings): Pick<
  NginxSettings,
  'requestHeaders' | 'responseHeaders' | 'hiddenHeaders' | 'strictTransportSecurity' | 'serverHeader'
> {
  const { strictTransportSecurity, server, request, response } = headers;
  const security = header('Strict-Transport-Security', 'strict_transport_security');
  const ofRequests = [...request.set.map(written), ...request.remove.map((name) => ({ name, value: '' }))];
  return {
    strictTransportSecurity: strictTransportSecurity ?? '',
    serverHeader: server,
    requestHeaders: [...without(requestHeaders(forwarded), ofRequests), ...ofRequests],
    responseHeaders: [
      ...without(strictTransportSecurity === undefined ? [] : [security], response.set),
      ...response.set.map(written),
    ],
    hiddenHeaders: response.remove,
  };
}

function without(headers: readonly NginxHeader[], others: readonly { readonly name: string }[]): NginxHeader[] {
  const names = new Set(others.map(({ name }) => name.toLowerCase()));
  return headers.filter(({ name }) => !names.has(name.toLowerCase()));
}

function written({ name, value }: HeaderTemplate): NginxHeader {
  return { name, value: expanded(value) };
}

function header(name: string, variable: string): NginxHeader {
  return { name, value: new Expanded([{ variable }]) };
}

export function changedResponseHeaders({ set, remove }: HeaderChanges): LocationPatch {
  return {
    responseHeaders: set.map(written),
    ...(remove.length > 0 && { hiddenHeaders: remove }),
  };
}

/** What is said later of a header of answers counts alone, as with the directive of ingress-nginx. */
export function withoutHeaders(patch: LocationPatch, { responseHeaders: later = [] }: LocationPatch): LocationPatch {
  const { responseHeaders = [] } = patch;
  return later.length === 0 ? patch : { ...patch, responseHeaders: without(responseHeaders, later) };
}

/** With a list of origins what a backend says stays for all others: the template has a variable for each header that chooses. */
export function corsPatch(policy: CorsPolicy): LocationPatch {
  const headers = corsHeaders(policy);
  if (policy.origins === 'any') {
    const all = [['access-control-allow-origin', '*'] as const, ...headers];
    return { cors: { values: [] }, responseHeaders: all.map(([name, value]) => ({ name, value })) };
  }
  const variable = (name: string) => `cors_${name.slice('access-control-'.length).replaceAll('-', '_')}`;
  return {
    cors: {
      origins: new Pattern(`^${originPattern(policy.origins)}\\z`),
      values: headers.map(([name, value]) => ({ name: `own_${variable(name)}`, value })),
    },
    responseHeaders: ['access-control-allow-origin', ...headers.map(([name]) => name)].map((name) =>
      header(name, variable(name)),
    ),
  };
}
