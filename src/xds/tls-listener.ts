/** TCP with mutual TLS: connections of clients whose certificate was verified. Knows nothing of gRPC. */
import { constants, X509Certificate } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';

/** What this side proves itself with, and whom it trusts. PEM. */
export interface TlsCredentials {
  /** The certificate of this side, with its intermediates. */
  readonly certificate: Uint8Array;
  readonly key: Uint8Array;
  /** The certificate authorities that sign the certificates of clients. */
  readonly ca: readonly string[];
}

/** Credentials that may change while they are used; each change is complete and was checked. */
export interface CredentialSource {
  readonly current: TlsCredentials;
  /** Calls back with each change; the returned function ends it. */
  subscribe(listener: (credentials: TlsCredentials) => void): () => void;
}

export interface TlsListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly credentials: CredentialSource;
  /** A connection that is encrypted and whose client has proved itself. */
  onConnection(socket: TLSSocket): void;
  /** A connection that was refused before it could say anything. `address` is without a port. */
  onRefused(refusal: { readonly address: string; readonly reason: string }): void;
}

export interface TlsListener {
  /** The port that was really bound. */
  readonly port: number;
  /** Takes no new connections; those that are open live on. */
  close(): void;
}

const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Resolves when the port is bound; rejects when it cannot be. */
export async function listenTls(options: TlsListenerOptions): Promise<TlsListener> {
  const { credentials, host, port } = options;
  const open = new Set<TLSSocket>();
  const server = createServer({
    ...contextOptions(credentials.current),
    requestCert: true,
    // Node would end such connections without a word; they end below instead.
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
  });
  server.on('secureConnection', (socket) => {
    socket.on('error', () => {});
    const fault = whyUnproven(socket) ?? (socket.alpnProtocol === 'h2' ? undefined : 'it does not speak HTTP/2');
    if (fault !== undefined) {
      options.onRefused({ address: socket.remoteAddress ?? '', reason: fault });
      socket.destroy();
      return;
    }
    open.add(socket);
    const cancel = endWhenExpired(socket);
    socket.once('close', () => {
      open.delete(socket);
      cancel();
    });
    options.onConnection(socket);
  });
  server.on('tlsClientError', (error: Error & { code?: string }, socket) => {
    // Health checks open a connection and say nothing.
    if (error.code === 'ECONNRESET') return;
    options.onRefused({ address: socket.remoteAddress ?? '', reason: describeFault(error) });
  });
  await bind(server, host, port);
  const unsubscribe = credentials.subscribe((renewed) => {
    server.setSecureContext(contextOptions(renewed));
    for (const socket of open) if (!isTrusted(socket, renewed.ca)) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      unsubscribe();
      server.close();
    },
  };
}

function contextOptions({ certificate, key, ca }: TlsCredentials): SecureContextOptions {
  return {
    cert: Buffer.from(certificate),
    key: Buffer.from(key),
    ca: [...ca],
    minVersion: 'TLSv1.2',
    // A resumed session would bring back a certificate that has expired or whose authority is no longer trusted.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

/** `listen` reports a failure as an event, which must not stay unheard. */
function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: host.replace(/^\[|\]$/g, ''), port }, () => {
      server.off('error', reject);
      server.on('error', () => {});
      resolve();
    });
  });
}

/** The longest time that a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Whoever holds a stolen key must not keep a connection beyond what the key is good for. */
function endWhenExpired(socket: TLSSocket): () => void {
  const expiry = socket.getPeerX509Certificate()?.validToDate.getTime() ?? 0;
  let timer: NodeJS.Timeout;
  const wait = () => {
    const left = expiry - Date.now();
    if (left <= 0) socket.destroy();
    else timer = setTimeout(wait, Math.min(left, MAX_TIMER_MS)).unref();
  };
  wait();
  return () => clearTimeout(timer);
}

const MAX_CHAIN = 10;

/**
 * Whether the certificate of a connection leads to one of these authorities by what the client has shown. If in doubt the answer
 * is no: the client connects again and is verified in full.
 */
function isTrusted(socket: TLSSocket, ca: readonly string[]): boolean {
  const authorities = ca.map((pem) => new X509Certificate(pem));
  let certificate = socket.getPeerX509Certificate();
  for (let depth = 0; certificate !== undefined && depth < MAX_CHAIN; depth++) {
    const { fingerprint256, issuerCertificate } = certificate;
    for (const authority of authorities) {
      if (authority.fingerprint256 === fingerprint256) return true;
      if (certificate.checkIssued(authority) && certificate.verify(authority.publicKey)) return true;
    }
    certificate = issuerCertificate;
  }
  return false;
}

/** What is wrong with the certificate of a client; `undefined` when it was verified. */
function whyUnproven(socket: TLSSocket): string | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return 'it shows no certificate';
  if (socket.authorized) return undefined;
  const code = String(socket.authorizationError);
  // What the client claims: nothing has proved it.
  const claim = JSON.stringify(certificate.subject.replaceAll('\n', ', '));
  return `its certificate ${CERTIFICATE_FAULTS[code] ?? `is not trusted: ${code}`} (it claims to be ${claim})`;
}

const CERTIFICATE_FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
};

const HANDSHAKE_FAULTS: Readonly<Record<string, string>> = {
  ERR_TLS_HANDSHAKE_TIMEOUT: 'it did not finish the handshake in time',
  ERR_SSL_HTTP_REQUEST: 'it does not speak TLS',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS',
  ERR_SSL_NO_APPLICATION_PROTOCOL: 'it does not speak HTTP/2',
};

function describeFault({ code = '', reason, message }: Error & { code?: string; reason?: string }): string {
  return HANDSHAKE_FAULTS[code] ?? reason ?? message;
}
