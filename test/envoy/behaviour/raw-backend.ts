import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

export interface RawBackend {
  readonly port: number;
  close(): Promise<void>;
}

/** A backend of raw bytes, for what no HTTP server does: `onRequest` has the connection once the first bytes have arrived. */
export async function startRawBackend(onRequest: (socket: Socket, request: string) => void): Promise<RawBackend> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', (data) => onRequest(socket, data.toString('latin1')));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
