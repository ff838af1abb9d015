import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { endpointSlice, type Manifest } from './manifests.ts';

/** What a backend received, as it answers it. */
export interface Received {
  readonly backend: string;
  readonly method: string;
  /** With query, as it arrived. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Backend {
  readonly name: string;
  readonly port: number;
  /** An EndpointSlice of the Service that this backend is the only endpoint of. */
  slice(
    service: string,
    options?: { readonly suffix?: string; readonly portName?: string; readonly namespace?: string },
  ): Manifest;
  close(): Promise<void>;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A pod: an HTTP server on loopback that answers with what it received, or as `handler` wants. */
export async function startBackend(
  name: string,
  handler: Handler = echo(name),
  address = '127.0.0.1',
): Promise<Backend> {
  const server = createServer({ keepAliveTimeout: 120_000, maxHeaderSize: 64 * 1024 }, handler);
  server.listen(0, address);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    name,
    port,
    slice: (service, options = {}) => endpointSlice(service, [address], { port, suffix: name, ...options }),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export function echo(backend: string): Handler {
  return (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const received: Received = { backend, method, url, headers, body: Buffer.concat(chunks).toString() };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(received));
    });
  };
}
