import { once } from 'node:events';
import { createServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { type Backend, echo } from './backend.ts';
import { endpointSlice } from './manifests.ts';
import type { Pair } from './pki.ts';

export interface SecureBackendOptions {
  readonly pair: Pair;
  /** PEM of the authorities whose certificates clients must show; absent: clients need none. */
  readonly clientAuthority?: string;
  /** Versions of TLS that it takes. */
  readonly versions?: { readonly min?: 'TLSv1.2' | 'TLSv1.3'; readonly max?: 'TLSv1.2' | 'TLSv1.3' };
  readonly ciphers?: string;
  /** Each connection ends with its first answer, so that there is a handshake for each request. */
  readonly onceOnly?: true;
}

/**
 * A pod that speaks HTTPS and answers with what it received. Among the headers it shows what it saw of the handshake: `seen-server-name`,
 * `seen-client` (the common name of the certificate), `seen-version` and `seen-cipher`.
 */
export async function startSecureBackend(name: string, options: SecureBackendOptions): Promise<Backend> {
  const { pair, clientAuthority, versions = {}, ciphers, onceOnly } = options;
  const answer = echo(name);
  const server = createServer(
    {
      cert: pair.chain,
      key: pair.key,
      keepAliveTimeout: 120_000,
      ...(clientAuthority !== undefined && { ca: clientAuthority, requestCert: true }),
      ...(versions.min !== undefined && { minVersion: versions.min }),
      ...(versions.max !== undefined && { maxVersion: versions.max }),
      ...(ciphers !== undefined && { ciphers }),
    },
    (request, response) => {
      const socket = request.socket as TLSSocket;
      const client = socket.getPeerCertificate().subject;
      request.headers['seen-server-name'] = String(socket.servername || 'none');
      request.headers['seen-client'] = String(client?.CN ?? 'none');
      request.headers['seen-version'] = String(socket.getProtocol());
      request.headers['seen-cipher'] = socket.getCipher().standardName;
      if (onceOnly) response.setHeader('connection', 'close');
      answer(request, response);
    },
  );
  // Whoever does not like the certificate goes away in the handshake.
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    name,
    port,
    slice: (service, more = {}) => endpointSlice(service, ['127.0.0.1'], { port, suffix: name, ...more }),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
