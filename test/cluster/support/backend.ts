/** A backend in the process of the test, for clusters without pods. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { echoWebSocket } from '../../../src/files/echo-websocket.ts';
import { endpointSlice, service } from '../../support/manifests.ts';
import type { Manifest } from './api.ts';

export interface Backend {
  /** A Service on port 80, and an EndpointSlice written by hand that leads here. */
  manifests(namespace: string, name: string): readonly Manifest[];
  close(): Promise<void>;
}

const PORT = 8080;

/** Answers every request with 200 and its name, and echoes WebSocket frames. @param address one of 10.200.2.0/24: not those of pods. */
export async function startBackend(name: string, address = '10.200.2.1'): Promise<Backend> {
  const server = createServer({ keepAliveTimeout: 300_000 }, (_request, response) => response.end(`${name}\n`));
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
