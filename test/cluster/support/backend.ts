/** A backend in the process of the test, for clusters without pods. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { echoWebSocket } from '../../../src/files/echo-websocket.ts';
import { endpointSlice, service } from '../../support/manifests.ts';
import type { Manifest } from './api.ts';

export interface Backend {
  /** A Service on port 80, and an EndpointSlice written by hand that leads here. */
  manifests(namespace: string, name: string): readonly Manifest[];
  close(): Promise<void>;
}

const PORT = 8080;

/** How often a stream sends something, in milliseconds. */
const STREAM_TICK_MS = 20;

/**
 * Answers every request with 200 and its name, and echoes WebSocket frames. Takes its time for `/slow/MILLISECONDS`, and never ends
 * an answer to `/stream`, which are lines with their number.
 * @param address one of 10.200.2.0/24: not those of pods.
 */
export async function startBackend(name: string, address = '10.200.2.1'): Promise<Backend> {
  const server = createServer({ keepAliveTimeout: 300_000 }, (request, response) => {
    if (request.url === '/stream') {
      stream(response);
      return;
    }
    const delayMs = Number(/^\/slow\/(\d+)$/.exec(request.url ?? '')?.[1] ?? 0);
    if (delayMs === 0) response.end(`${name}\n`);
    else setTimeout(() => response.end(`${name}\n`), delayMs);
  });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    echoWebSocket(request, socket, head, []);
  });
  server.listen(PORT, address);
  await once(server, 'listening');
  return {
    manifests: (namespace, serviceName) => [
      service(serviceName, [{ port: 80, targetPort: PORT }], namespace),
      endpointSlice(serviceName, [address], { port: PORT, namespace }),
    ],
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function stream(response: ServerResponse): void {
  let line = 0;
  const timer = setInterval(() => response.write(`${++line}\n`), STREAM_TICK_MS);
  response.on('close', () => clearInterval(timer));
}
