/** Headers that every location has, and what some policies of a route make of headers. */
import { type CorsPolicy, corsHeaders, originPattern } from '../model/cors.ts';
import type { HeaderChanges } from '../model/headers.ts';
import type { NginxHeader } from './config.ts';
import type { LocationPatch } from './policies.ts';
import { Expanded, Pattern } from './quote.ts';
import { expanded } from './variables.ts';

/** What a backend learns of the client and of the request as it came. */
export const REQUEST_HEADERS: readonly NginxHeader[] = [
  header('Host', 'best_http_host'),
  header('Upgrade', 'http_upgrade'),
  header('Connection', 'connection_upgrade'),
  header('X-Request-ID', 'req_id'),
  header('X-Real-IP', 'remote_addr'),
  header('X-Forwarded-For', 'remote_addr'),
  header('X-Forwarded-Host', 'best_http_host'),
  header('X-Forwarded-Port', 'server_port'),
  header('X-Forwarded-Proto', 'scheme'),
  header('X-Forwarded-Scheme', 'scheme'),
  header('X-Scheme', 'scheme'),
  header('X-Original-Forwarded-For', 'http_x_forwarded_for'),
  // Programs behind CGI would take it for their own proxy.
  { name: 'Proxy', value: '' },
];

/** In place of what a backend says. */
export const RESPONSE_HEADERS: readonly NginxHeader[] = [
  header('Strict-Transport-Security', 'strict_transport_security'),
];

function header(name: string, variable: string): NginxHeader {
  return { name, value: new Expanded([{ variable }]) };
}

export function changedResponseHeaders({ set, remove }: HeaderChanges): LocationPatch {
  return {
    responseHeaders: set.map(({ name, value }) => ({ name, value: expanded(value) })),
    ...(remove.length > 0 && { hiddenHeaders: remove }),
  };
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
