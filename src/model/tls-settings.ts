/** Versions that clients may speak, ascending. */
export const clientTlsVersions = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const;
export type ClientTlsVersion = (typeof clientTlsVersions)[number];

/** How clients speak TLS, where a host says nothing else. */
export interface TlsSettings {
  /** Ascending, at least one. */
  readonly versions: readonly ClientTlsVersion[];
  /** Of TLS 1.2, by the names of OpenSSL, in the order of preference; absent: the default of ingress-nginx. */
  readonly ciphers?: readonly string[];
  /** Groups of the key exchange by the names of Envoy, in the order of preference; absent: the proxy's own. */
  readonly curves?: readonly string[];
  /** Whether HTTP/2 is offered. */
  readonly http2: boolean;
  /** Whether the proxy remembers sessions. */
  readonly sessionCache: boolean;
  /** Bytes for all sessions; only nginx has it. */
  readonly sessionCacheBytes: number;
  /** Whether clients may keep their sessions themselves. */
  readonly sessionTickets: boolean;
  readonly sessionTimeoutSeconds: number;
  /** Bytes of a record; only nginx has it. */
  readonly bufferBytes: number;
  /** Data in the first flight of TLS 1.3; only nginx has it. */
  readonly earlyData: boolean;
  /** Whether OCSP responders are asked about certificates, so that clients need not. */
  readonly stapling: boolean;
  /** Whether a client that asks for a name without a certificate is refused; else it gets the default certificate. */
  readonly rejectsUnknownNames: boolean;
}

/** How TLS is spoken with those who ask for some names; what is absent is as in the settings. */
export interface TlsPolicy {
  /** As in `TlsSettings`; empty for the default of ingress-nginx, whatever the settings say. */
  readonly ciphers?: readonly string[];
  /** Among ciphers of both sides the order of the client counts. */
  readonly prefersClientCiphers?: true;
}

/** The settings with a policy over them. */
export function withTlsPolicy({ ciphers, ...settings }: TlsSettings, policy: TlsPolicy): TlsSettings & TlsPolicy {
  const chosen = policy.ciphers === undefined ? ciphers : policy.ciphers;
  return {
    ...settings,
    ...(chosen !== undefined && chosen.length > 0 && { ciphers: chosen }),
    ...(policy.prefersClientCiphers && { prefersClientCiphers: true }),
  };
}

/** As in ingress-nginx. */
export const DEFAULT_TLS: TlsSettings = {
  versions: ['TLSv1.2', 'TLSv1.3'],
  http2: true,
  sessionCache: true,
  sessionCacheBytes: 10 * 1024 ** 2,
  sessionTickets: false,
  sessionTimeoutSeconds: 600,
  bufferBytes: 4096,
  earlyData: false,
  stapling: false,
  rejectsUnknownNames: false,
};

/** The default of ingress-nginx but for ciphers with DHE, which need parameters that nobody has by default. */
export const DEFAULT_CIPHERS: readonly string[] = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
];
