import { type Codec, codec, type Decoded } from './codec.ts';
import type { ProxyName } from './support.ts';

/** Ciphers of TLS 1.2 by the names of OpenSSL, as far as Envoy has them. */
const OF_BOTH = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-SHA',
  'ECDHE-RSA-AES128-SHA',
  'ECDHE-ECDSA-AES256-SHA',
  'ECDHE-RSA-AES256-SHA',
  'AES128-GCM-SHA256',
  'AES256-GCM-SHA384',
  'AES128-SHA',
  'AES256-SHA',
] as const;

/** Those that nginx alone has. */
const OF_NGINX = [
  'ECDHE-ECDSA-AES128-SHA256',
  'ECDHE-RSA-AES128-SHA256',
  'ECDHE-ECDSA-AES256-SHA384',
  'ECDHE-RSA-AES256-SHA384',
  'DHE-RSA-AES128-GCM-SHA256',
  'DHE-RSA-AES256-GCM-SHA384',
  'DHE-RSA-CHACHA20-POLY1305',
  'DHE-RSA-AES128-SHA256',
  'DHE-RSA-AES256-SHA256',
  'DHE-RSA-AES128-SHA',
  'DHE-RSA-AES256-SHA',
  'AES128-SHA256',
  'AES256-SHA256',
] as const;

const KNOWN: Readonly<Record<ProxyName, ReadonlySet<string>>> = {
  envoy: new Set(OF_BOTH),
  nginx: new Set([...OF_BOTH, ...OF_NGINX]),
};

/** Groups of ciphers, for which a proxy's own list stands. */
const GROUPS: ReadonlySet<string> = new Set(['DEFAULT', 'HIGH', 'ALL', 'SECURE128', 'SECURE256']);

/** A list of OpenSSL, each item as it is written. */
export const cipherList: Codec<readonly string[]> = codec('a list of ciphers as OpenSSL writes it', (text) => {
  const items = text.split(/[\s,:]+/).filter((item) => item !== '');
  return items.length > 0 && items.every((item) => /^[A-Za-z0-9+_!@=-]+$/.test(item)) ? items : undefined;
});

/**
 * The ciphers of a list that a proxy has, in their order; none where the list leaves the choice to it. What it has not, and what only
 * takes away, does not count. The reason is for lists of which nothing is left.
 */
export function ciphersFor(
  proxy: ProxyName,
  items: readonly string[],
): Decoded<{ readonly ciphers: readonly string[]; readonly dropped: readonly string[] }> {
  const known = KNOWN[proxy];
  const added = items.filter((item) => !/^[!@-]/.test(item));
  if (added.some((item) => GROUPS.has(item))) return { value: { ciphers: [], dropped: [] } };
  const ciphers = [...new Set(added.filter((item) => known.has(item)))];
  if (ciphers.length === 0) return { reason: 'names no cipher that the proxy has' };
  // Those of TLS 1.3 are always on.
  const dropped = added.filter((item) => !known.has(item) && !item.startsWith('TLS_'));
  return { value: { ciphers, dropped } };
}
