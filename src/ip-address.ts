import ipaddr from 'ipaddr.js';

export type AddressFamily = 'IPv4' | 'IPv6';

/**
 * Only what the Kubernetes API takes for an address: four decimal parts without leading zeros, or IPv6 without a zone
 * (`2001:DB8::0:1` → `2001:db8::1`). `undefined` for anything else.
 */
export function canonicalIp(text: string): { readonly ip: string; readonly family: AddressFamily } | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return { ip: text, family: 'IPv4' };
  if (!ipaddr.IPv6.isValid(text) || text.includes('%')) return undefined;
  return { ip: ipaddr.IPv6.parse(text).toString(), family: 'IPv6' };
}

/** Addresses of this machine or its link: through them somebody would reach what listens for this machine alone. */
const LOCAL_RANGES: ReadonlySet<string> = new Set(['loopback', 'linkLocal', 'unspecified', 'multicast', 'broadcast']);
/** Where clouds tell a machine its secrets, beside the addresses of its link. */
const METADATA_ADDRESSES: ReadonlySet<string> = new Set([
  '168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd20:ce::254',
  'fd00:c1::a9fe:a9fe',
  'fd00:42::42',
]);
/** Addresses of IPv6 that something on the way turns into one of IPv4, and the byte at which that begins. */
const EMBEDDING_RANGES: Readonly<Record<string, number>> = { rfc6052: 12, rfc6145: 12, '6to4': 2 };

/** Whether an address is one that nobody may name for the proxy to connect to. Throws for what is no address. */
export function specialAddress(text: string): 'local' | 'metadata' | undefined {
  const address = ipaddr.process(text);
  if (LOCAL_RANGES.has(address.range())) return 'local';
  if (METADATA_ADDRESSES.has(address.toString())) return 'metadata';
  const embedded = embeddedAddress(address);
  return embedded === undefined ? undefined : specialAddress(embedded);
}

function embeddedAddress(address: ipaddr.IPv4 | ipaddr.IPv6): string | undefined {
  const bytes = address.toByteArray();
  // `::127.0.0.1`, the form of IPv4 that was given up.
  const isCompatible = bytes.length === 16 && bytes.slice(0, 12).every((byte) => byte === 0);
  const start = isCompatible ? 12 : EMBEDDING_RANGES[address.range()];
  return start === undefined || bytes.length === 4 ? undefined : bytes.slice(start, start + 4).join('.');
}
