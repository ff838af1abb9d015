import ipaddr from 'ipaddr.js';
import type { DiagnosticCode } from '../model/diagnostic.ts';
import { DEFAULT_HOST, type HostName } from '../model/proxy-model.ts';

export type ParsedHost =
  | { readonly host: HostName }
  | {
      readonly refused: Extract<DiagnosticCode, 'IngressHostInvalid' | 'IngressFeatureUnsupported'>;
      readonly reason: string;
    };

const MAX_HOST_LENGTH = 253;
const LABEL = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?';
const DNS_NAME = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);

/** The host of a rule, lower-cased and without a trailing dot. No host means the default server. */
export function parseHost(text: string | undefined): ParsedHost {
  if (text === undefined || text === '') return { host: DEFAULT_HOST };
  const host = text.toLowerCase().replace(/\.$/, '');
  if (host === '*') return invalid('is no host name; leave the host out to answer every host');
  if (host.startsWith('*.') && isDnsName(host.slice(2))) {
    return { refused: 'IngressFeatureUnsupported', reason: 'is a wildcard host, which is not supported yet' };
  }
  if (ipaddr.isValid(host)) return invalid('is an IP address, not a DNS name');
  if (host.includes(':')) return invalid('carries a port or a colon; name the host alone');
  if (!isDnsName(host)) return invalid('is no DNS name');
  return { host };
}

/** Lower-case labels of letters, digits and inner hyphens, 253 characters at most. */
export function isDnsName(text: string): boolean {
  return text.length <= MAX_HOST_LENGTH && DNS_NAME.test(text);
}

/** The wildcard that covers a host in its first label: `*.example.com` for `shop.example.com`; none for a single label. */
export function wildcardOf(host: HostName): string | undefined {
  const dot = host.indexOf('.');
  return dot < 0 ? undefined : `*${host.slice(dot)}`;
}

function invalid(reason: string): ParsedHost {
  return { refused: 'IngressHostInvalid', reason };
}
