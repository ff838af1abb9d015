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
