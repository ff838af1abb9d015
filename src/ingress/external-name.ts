import ipaddr from 'ipaddr.js';
import type { Service } from '../cluster/objects.ts';
import { specialAddress } from '../ip-address.ts';
import { isDnsName } from './host.ts';
import { numericTargetPort, portNumber, servicePortByNumber } from './service-port.ts';

export type ExternalName = { readonly hostname: string } | { readonly reason: string };
export type ReadExternalName = (text: string | undefined) => ExternalName;

const LOCAL_NAMES: ReadonlySet<string> = new Set([
  'localhost',
  'localhost4',
  'localhost6',
  'localhost.localdomain',
  'localhost4.localdomain4',
  'localhost6.localdomain6',
  'localhost.localdomain6',
  'ip6-localhost',
  'ip6-loopback',
]);
/** Where clouds tell a machine its secrets. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
]);
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
  const special = specialAddress(text);
  if (special === 'local') return { reason: 'is an address of the proxy itself or of its link' };
  return special === 'metadata' ? METADATA : { hostname: ipaddr.process(text).toString() };
}

/** The port behind an ExternalName, which may list no ports at all: the target port of the Service port, else `port` itself. */
export function externalPort(service: Service, port: string, protocol?: 'UDP'): number | undefined {
  const servicePort = servicePortByNumber(service, port, protocol);
  return servicePort === undefined ? portNumber(port) : (numericTargetPort(servicePort) ?? servicePort.port);
}
