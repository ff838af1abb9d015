import ipaddr from 'ipaddr.js';
import type { Service } from '../cluster/objects.ts';
import { isDnsName } from './host.ts';
import { numericTargetPort, portNumber, servicePortByNumber } from './service-port.ts';

export type ExternalName = { readonly hostname: string } | { readonly reason: string };
export type ReadExternalName = (text: string | undefined) => ExternalName;

/** Addresses of this machine or its link: through them a tenant would reach what listens for the proxy alone. */
const REFUSED_RANGES: ReadonlySet<string> = new Set(['loopback', 'linkLocal', 'unspecified', 'multicast', 'broadcast']);
const LOCAL_NAMES: ReadonlySet<string> = new Set([
  'localhost',
  'localhost.localdomain',
  'ip6-localhost',
  'ip6-loopback',
]);
/** Where clouds tell a machine its secrets, beside the addresses of its link. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
]);
const METADATA_ADDRESSES: ReadonlySet<string> = new Set([
  'fd00:ec2::254',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
]);
/** Addresses of IPv6 that a gateway on the way turns into one of IPv4, and the byte at which that begins. */
const EMBEDDING_RANGES: Readonly<Record<string, number>> = { rfc6052: 12, '6to4': 2 };
/** Resolvers read a name whose last label is a number as an address, in many spellings (`127.1`, `0x7f000001`). */
const ENDS_IN_NUMBER = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

/** How external names are read; with `--disable-svc-external-name` none is resolved. */
export function externalNameReader({ disabled }: { readonly disabled: boolean }): ReadExternalName {
  return disabled ? () => ({ reason: 'is not resolved: --disable-svc-external-name' }) : parseExternalName;
}

/** The name that the proxy is to resolve, lower-cased; a trailing dot is kept, since it ends the search for suffixes. */
export function parseExternalName(text: string | undefined): ExternalName {
  if (text === undefined || text === '') return { reason: 'is empty' };
  const hostname = text.toLowerCase();
  const name = hostname.replace(/\.$/, '');
  if (ipaddr.isValid(name)) return parseAddress(name);
  if (LOCAL_NAMES.has(name) || name.endsWith('.localhost')) return { reason: 'is a name of the proxy itself' };
  if (METADATA_NAMES.has(name)) return METADATA;
  if (ENDS_IN_NUMBER.test(name) || !isDnsName(name)) return { reason: 'is no DNS name' };
  return { hostname };
}

const METADATA = { reason: 'is where a cloud keeps the secrets of its machines' };

function parseAddress(text: string): ExternalName {
  const address = ipaddr.process(text);
  if (REFUSED_RANGES.has(address.range())) return { reason: 'is an address of the proxy itself or of its link' };
  if (METADATA_ADDRESSES.has(address.toString())) return METADATA;
  const embedded = embeddedAddress(address);
  if (embedded !== undefined && 'reason' in parseAddress(embedded)) return parseAddress(embedded);
  return { hostname: address.toString() };
}

function embeddedAddress(address: ipaddr.IPv4 | ipaddr.IPv6): string | undefined {
  const bytes = address.toByteArray();
  // `::127.0.0.1`, the form of IPv4 that was given up.
  const isCompatible = bytes.length === 16 && bytes.slice(0, 12).every((byte) => byte === 0);
  const start = isCompatible ? 12 : EMBEDDING_RANGES[address.range()];
  return start === undefined || bytes.length === 4 ? undefined : bytes.slice(start, start + 4).join('.');
}

/** The port behind an ExternalName, which may list no ports at all: the target port of the Service port, else `port` itself. */
export function externalPort(service: Service, port: string, protocol?: 'UDP'): number | undefined {
  const servicePort = servicePortByNumber(service, port, protocol);
  return servicePort === undefined ? portNumber(port) : (numericTargetPort(servicePort) ?? servicePort.port);
}
