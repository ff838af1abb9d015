import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Backend } from '../../support/backend.ts';
import { endpointSlice } from '../../support/manifests.ts';

export interface UpgradingBackend extends Pick<Backend, 'close' | 'slice'> {
  /** The upgrades that were asked for so far. */
  readonly requests: readonly { readonly url: string; readonly headers: IncomingHttpHeaders }[];
}

/** Takes every upgrade and gives every byte back. */
export async function startUpgradingBackend(): Promise<UpgradingBackend> {
  const requests: { url: string; headers: IncomingHttpHeaders }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer();
  server.on('upgrade', (request, socket: Socket) => {
    const { url = '', headers } = request;
    requests.push({ url, headers });
    sockets.add(socket);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${headers.upgrade}\r\n\r\n`);
    socket.on('error', () => {}).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    requests,
    slice: (service) => endpointSlice(service, ['127.0.0.1'], { port }),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

export interface OpenSocket {
  /** Status line and headers of the answer. */
  readonly head: string;
  /** Sends text and resolves with as many bytes as it has. */
  exchange(text: string): Promise<string>;
  close(): void;
}

/** Asks for an upgrade and resolves with what was answered. */
export async function openWebSocket(port: number, host: string, protocol: string, path = '/'): Promise<OpenSocket> {
  const socket = connect({ port, host: '127.0.0.1' });
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text;
  });
  const until = async (condition: () => boolean) => {
    while (!condition()) await once(socket, 'data', { signal: AbortSignal.timeout(15_000) });
  };
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  );
  await until(() => received.includes('\r\n\r\n'));
  const end = received.indexOf('\r\n\r\n') + 4;
  const head = received.slice(0, end);
  received = received.slice(end);
  return {
    head,
    exchange: async (text) => {
      socket.write(text, 'latin1');
      await until(() => received.length >= text.length);
      const echoed = received.slice(0, text.length);
      received = received.slice(text.length);
      return echoed;
    },
    close: () => socket.destroy(),
  };
}
