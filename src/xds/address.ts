/** Where the server listens. */

export type XdsAddress =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number };

/** An address that cannot be read, may not be served or cannot be bound. */
export class XdsAddressError extends Error {}

const LOOPBACK = /^(127(?:\.\d{1,3}){3}|localhost|\[::1\])$/;

/**
 * Reads `unix:PATH` or `HOST:PORT`, with an IPv6 address in brackets.
 * @throws XdsAddressError if it is neither.
 */
export function parseXdsAddress(text: string): XdsAddress {
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length);
    if (path === '') throw new XdsAddressError(`${text} names no path`);
    return { kind: 'unix', path };
  }
  const [, host, digits] = /^(\[[\da-f:.]+\]|[^:[\]]+):(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(digits);
  if (host === undefined || port > 65_535) throw new XdsAddressError(`${text} is neither unix:PATH nor HOST:PORT`);
  return { kind: 'tcp', host, port };
}

/**
 * The same for an address to listen on.
 * @param mutualTls whether clients over TCP have to prove who they are.
 * @throws XdsAddressError also for TCP off loopback without that: anybody could read the configuration.
 */
export function parseListenAddress(text: string, mutualTls = false): XdsAddress {
  const address = parseXdsAddress(text);
  if (address.kind === 'tcp' && !mutualTls && !LOOPBACK.test(address.host)) {
    throw new XdsAddressError(`${text} is not on loopback: without mutual TLS anybody could read the configuration`);
  }
  return address;
}
