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
 * @throws XdsAddressError also for TCP off loopback, where anybody could read the configuration and nobody could prove who asks.
 */
export function parseListenAddress(text: string): XdsAddress {
  const address = parseXdsAddress(text);
  if (address.kind === 'tcp' && !LOOPBACK.test(address.host)) {
    const reason = 'without mutual TLS, which is not supported yet, anybody could read the configuration';
    throw new XdsAddressError(`${text} is not on loopback: ${reason}`);
  }
  return address;
}
