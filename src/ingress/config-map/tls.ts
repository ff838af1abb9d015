/** TLS with clients. */
import { clientTlsVersions, DEFAULT_TLS } from '../../model/tls-settings.ts';
import { cipherList } from '../declaration/ciphers.ts';
import { codec } from '../declaration/codec.ts';
import { anyText, boolean, size, sizeWithin } from '../declaration/codecs.ts';
import { configMapKeys } from '../declaration/config-map-key.ts';
import { duration } from '../declaration/duration.ts';
import { approximated, HONOURED, refused } from '../declaration/support.ts';

const honoured = { envoy: HONOURED, nginx: HONOURED } as const;

/** Too old for every TLS library of today; lists that name them beside others are common. */
const GONE = new Set(['SSLv2', 'SSLv3']);

const versions = codec(`a list of ${clientTlsVersions.join(', ')}`, (text) => {
  const words = text.split(/[\s,]+/).filter((word) => word !== '' && !GONE.has(word));
  const known = clientTlsVersions.filter((version) => words.includes(version));
  return known.length > 0 && words.every((word) => known.some((version) => version === word)) ? known : undefined;
});

/** By the names of OpenSSL and of standards, those of Envoy. */
const CURVES: Readonly<Record<string, string>> = {
  x25519: 'X25519',
  'p-256': 'P-256',
  prime256v1: 'P-256',
  secp256r1: 'P-256',
  'p-384': 'P-384',
  secp384r1: 'P-384',
  'p-521': 'P-521',
  secp521r1: 'P-521',
};

const curves = codec('auto, or a list such as X25519:P-256', (text): readonly string[] | undefined => {
  if (text === 'auto') return [];
  const names = text.split(':').map((name) => CURVES[name.trim().toLowerCase()]);
  const known = names.filter((name) => name !== undefined);
  return known.length === names.length ? [...new Set(known)] : undefined;
});

const NO_DHE =
  'no cipher that is offered needs parameters: those with ECDHE and of TLS 1.3 do without, so the key can be left out';

export const tlsKeys = configMapKeys({
  'use-http2': {
    ...honoured,
    codec: boolean,
    default: DEFAULT_TLS.http2,
    summary: 'Whether clients may speak HTTP/2.',
    example: 'false',
  },
  'ssl-protocols': {
    codec: versions,
    default: DEFAULT_TLS.versions,
    shownDefault: 'TLSv1.2 TLSv1.3',
    summary: 'Versions of TLS that clients may speak. `SSLv2` and `SSLv3` do not count.',
    example: 'TLSv1.3',
    envoy: approximated('What lies between two versions of the list is allowed too.'),
    nginx: HONOURED,
  },
  'ssl-ciphers': {
    codec: cipherList,
    default: [],
    shownDefault: 'six with ECDHE and GCM or CHACHA20',
    defaultInWords: true,
    summary:
      'Ciphers of TLS 1.2, in the order of preference. Those that the proxy has not are left out; the default holds where none is left.',
    example: 'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256',
    envoy: approximated('Groups such as `HIGH` mean the default, and there are no ciphers with DHE.'),
    nginx: approximated('Groups such as `HIGH` mean the default.'),
  },
  'ssl-ecdh-curve': {
    ...honoured,
    codec: curves,
    default: [],
    shownDefault: 'auto',
    summary: 'Groups of the key exchange, in the order of preference.',
    example: 'X25519:P-256',
  },
  'ssl-session-cache': {
    ...honoured,
    codec: boolean,
    default: DEFAULT_TLS.sessionCache,
    summary: 'Whether the proxy remembers sessions, so that clients that come back need a shorter handshake.',
    example: 'false',
  },
  'ssl-session-cache-size': {
    // Eight pages of memory are the least that nginx takes.
    codec: sizeWithin('32k to 1g', { min: 32 * 1024, max: 1024 ** 3 }),
    default: DEFAULT_TLS.sessionCacheBytes,
    shownDefault: '10m',
    summary: 'How much memory the sessions may take.',
    example: '20m',
    envoy: approximated('Envoy remembers a fixed number of sessions.'),
    nginx: HONOURED,
  },
  'ssl-session-timeout': {
    ...honoured,
    codec: duration,
    default: DEFAULT_TLS.sessionTimeoutSeconds,
    shownDefault: '10m',
    summary: 'How long a session can be taken up again.',
    example: '1h',
  },
  'ssl-session-tickets': {
    ...honoured,
    codec: boolean,
    default: DEFAULT_TLS.sessionTickets,
    summary: 'Whether clients keep their sessions themselves, in tickets. Each proxy takes its own alone.',
    example: 'true',
  },
  'ssl-session-ticket-key': {
    codec: anyText,
    default: '',
    summary: 'A key for tickets that several proxies share.',
    example: 'cGxlYXNlIGRvIG5vdCB1c2UgdGhpcyBrZXksIGl0IGlzIG9ubHkgYW4gZXhhbXBsZQ==',
    envoy: refused('whoever reads the ConfigMap could read all connections; each proxy makes a key of its own'),
    nginx: refused('whoever reads the ConfigMap could read all connections; each proxy makes a key of its own'),
  },
  'ssl-buffer-size': {
    codec: size,
    default: DEFAULT_TLS.bufferBytes,
    shownDefault: '4k',
    summary: 'The size of the records in which answers are sent.',
    example: '16k',
    envoy: approximated('Envoy chooses the size by itself.'),
    nginx: HONOURED,
  },
  'ssl-reject-handshake': {
    codec: boolean,
    default: DEFAULT_TLS.rejectsUnknownNames,
    summary:
      'Whether clients that ask for a name that no Ingress has, or for none, are refused instead of shown the default certificate.',
    example: 'true',
    envoy: approximated(
      'The connection is closed without a word of TLS, also for hosts that have the default certificate.',
    ),
    nginx: HONOURED,
  },
  'ssl-early-data': {
    codec: boolean,
    default: DEFAULT_TLS.earlyData,
    summary: 'Whether requests are taken from the first flight of TLS 1.3, which others can send again.',
    example: 'true',
    envoy: refused('Envoy takes no early data over TCP; clients send the request after the handshake'),
    nginx: HONOURED,
  },
  'ssl-dh-param': {
    codec: anyText,
    default: '',
    summary: 'A Secret with parameters for ciphers with DHE.',
    example: 'ingress/dhparam',
    envoy: refused(NO_DHE),
    nginx: refused(NO_DHE),
  },
  'enable-ocsp': {
    codec: boolean,
    default: false,
    summary:
      'Whether handshakes carry the word of the authority that the certificate has not been revoked, for certificates that name an OCSP responder and have that of their issuer behind them.',
    example: 'true',
    ...honoured,
  },
});
