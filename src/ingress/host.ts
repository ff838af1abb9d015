import ipaddr from 'ipaddr.js';
import { DEFAULT_HOST, type HostName } from '../model/proxy-model.ts';

export type ParsedHost = { readonly host: HostName } | { readonly reason: string };

const MAX_HOST_LENGTH = 253;
const LABEL = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?';
/** The parser of addresses takes its time to refuse a name, so it is not asked about what cannot be one. */
const MAYBE_ADDRESS = /:|^[\da-fx.]+$/;
const DNS_NAME = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);

/** The host of a rule, lower-cased and without a trailing dot, or why it is none. No host means the default server. */
export function parseHost(text: string | undefined): ParsedHost {
  if (text === undefined || text === '') return { host: DEFAULT_HOST };
  const host = text.toLowerCase().replace(/\.$/, '');
  if (host === '*') return { reason: 'is no host name; leave the host out to answer every host' };
  const name = isWildcard(host) ? host.slice(2) : host;
  if (MAYBE_ADDRESS.test(name) && ipaddr.isValid(name)) return { reason: 'is an IP address, not a DNS name' };
  if (name.includes(':')) return { reason: 'carries a port or a colon; name the host alone' };
  if (name.includes('*')) return { reason: 'holds a wildcard that is not its whole first label' };
  if (!isDnsName(name) || host.length > MAX_HOST_LENGTH) return { reason: 'is no DNS name' };
  return { host };
}

/** Lower-case labels of letters, digits and inner hyphens, 253 characters at most. */
export function isDnsName(text: string): boolean {
  return text.length <= MAX_HOST_LENGTH && DNS_NAME.test(text);
}

/** Whether a name begins with a wildcard for one label. */
export function isWildcard(name: string): boolean {
  return name.startsWith('*.');
}

/**
 * The wildcard that covers a host in its first label: `*.example.com` for `shop.example.com`; none for a single label and for
 * what is a wildcard itself.
 */
export function wildcardOf(host: HostName): string | undefined {
  const dot = host.indexOf('.');
  return dot < 0 || isWildcard(host) ? undefined : `*${host.slice(dot)}`;
}
