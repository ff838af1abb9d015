/** Addresses and networks, as users write them. */
import ipaddr from 'ipaddr.js';
import type { Network } from '../../model/proxy-model.ts';
import type { Codec, Decoded } from './codec.ts';

/** Between commas. An empty item is a fault, since a list that protects must not come out shorter than it was meant. */
export const networks: Codec<readonly Network[]> = {
  expects: 'a list of addresses and networks with commas',
  decode(text): Decoded<readonly Network[]> {
    const found = new Set<Network>();
    for (const item of text.split(',').map((part) => part.trim())) {
      const network = parseNetwork(item);
      if (network === undefined)
        return { reason: `holds ${JSON.stringify(item)}, which is no address or network such as 10.0.0.0/8` };
      found.add(network);
    }
    return { value: [...found] };
  },
};

/** `undefined` for what is none. An address is the network of itself alone; bits behind the length of a network do not count. */
export function parseNetwork(text: string): Network | undefined {
  const [, address = '', digits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const parsed = parseAddress(address);
  const bits = parsed?.kind() === 'ipv4' ? 32 : 128;
  const length = digits === undefined ? bits : Number(digits);
  if (parsed === undefined || length > bits) return undefined;
  // Clients of IPv4 are compared as such, however their address was written.
  if ('isIPv4MappedAddress' in parsed && parsed.isIPv4MappedAddress() && length >= 96)
    return networkOf(parsed.toIPv4Address(), length - 96);
  return networkOf(parsed, length);
}

/** Not `10.1` nor `010.0.0.1`, which the library takes, and in which people and programs see different addresses. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  return ipaddr.IPv6.isValid(text) && !text.includes('%') ? ipaddr.IPv6.parse(text) : undefined;
}

function networkOf(address: ipaddr.IPv4 | ipaddr.IPv6, length: number): Network {
  const bytes = address.toByteArray().map((byte, index) => byte & maskOf(length - index * 8));
  return `${ipaddr.fromByteArray(bytes).toString()}/${length}`;
}

/** The mask of a byte of which this many bits count. */
function maskOf(bits: number): number {
  if (bits >= 8) return 0xff;
  return bits <= 0 ? 0 : (0xff00 >> bits) & 0xff;
}
