/** Pods that speak no HTTP: what arrives comes back, with the name of the pod in front. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, Socket } from 'node:net';

export interface StreamBackend {
  readonly name: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Over TCP, with the name in front of everything. When the client has ended its side, it is told so (`NAME end`) before the connection is closed. */
export async function startTcpEcho(name: string, address = '127.0.0.1'): Promise<StreamBackend> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.setEncoding('latin1');
    socket.on('error', () => {});
    socket.once('data', () => socket.write(`${name}:`));
    socket.on('data', (data) => socket.write(data));
    socket.on('end', () => socket.end(`${name} end`));
  });
  server.listen(0, address);
  await once(server, 'listening');
  return {
    name,
    port: (server.address() as { port: number }).port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Over TCP: one answer, with the name in front, and the end of the connection. */
export async function startTcpAnswer(name: string): Promise<StreamBackend> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (data) => socket.end(`${name}:${data.toString('latin1')}`));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    name,
    port: (server.address() as { port: number }).port,
    close: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

/** Over UDP: one datagram back for each, with the name in front. */
export async function startUdpEcho(name: string, address = '127.0.0.1'): Promise<StreamBackend> {
  const socket = createSocket('udp4');
  socket.on('message', (message, peer) => socket.send(`${name}:${message}`, peer.port, peer.address));
  socket.bind(0, address);
  await once(socket, 'listening');
  return {
    name,
    port: socket.address().port,
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

const DEADLINE_MS = 10_000;

/** A connection to a port of this machine. */
export interface Connection {
  readonly socket: Socket;
  /** Everything that came so far. */
  readonly received: () => string;
  /** Sends, and resolves with what comes back as soon as it is `answer`. */
  ask(text: string, answer: string): Promise<void>;
  /** Resolves with everything that came once the other side has closed, with the code of the error if there was one. */
  readonly closed: Promise<string>;
}

export async function connectTo(port: number, host = '127.0.0.1'): Promise<Connection> {
  const socket = new Socket({ allowHalfOpen: true });
  let text = '';
  let arrived = () => {};
  socket.setEncoding('latin1');
  socket.on('data', (data: string) => {
    text += data;
    arrived();
  });
  const closed = new Promise<string>((resolve) => {
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(`${text}${error.code}`));
    socket.once('end', () => {
      resolve(text);
      socket.end();
    });
  });
  socket.connect(port, host);
  const connected = once(socket, 'connect');
  connected.catch(() => {});
  await Promise.race([connected, closed]);
  return {
    socket,
    received: () => text,
    closed,
    ask: (sent, answer) =>
      new Promise((resolve, reject) => {
        const from = text.length;
        const timer = setTimeout(() => reject(new Error(`${text.slice(from)} came, not ${answer}`)), DEADLINE_MS);
        arrived = () => {
          if (text.slice(from) !== answer) return;
          clearTimeout(timer);
          resolve();
        };
        socket.write(sent);
      }),
  };
}

/** Sends one text over a new connection, and resolves with what came back until the other side closed. */
export async function exchange(port: number, text: string, host?: string): Promise<string> {
  const { socket, closed } = await connectTo(port, host);
  socket.end(text);
  const answer = await closed;
  socket.destroy();
  return answer;
}

/** A client port of its own. */
export interface UdpClient {
  /** Sends a datagram again and again until one comes back, since none need arrive; rejects after some seconds. */
  ask(port: number, text: string): Promise<string>;
  close(): void;
}

export function createUdpClient(host: '127.0.0.1' | '::1' = '127.0.0.1'): UdpClient {
  const socket: UdpSocket = createSocket(host === '::1' ? 'udp6' : 'udp4');
  // A closed port is told by ICMP.
  socket.on('error', () => {});
  return {
    ask: (port, text) =>
      new Promise((resolve, reject) => {
        const send = () => socket.send(text, port, host);
        const timer = setInterval(send, 500);
        const deadline = setTimeout(() => finish(() => reject(new Error(`no answer to ${text}`))), DEADLINE_MS);
        const onMessage = (message: Buffer) => finish(() => resolve(message.toString()));
        const finish = (settle: () => void) => {
          clearInterval(timer);
          clearTimeout(deadline);
          socket.off('message', onMessage);
          settle();
        };
        socket.on('message', onMessage);
        send();
      }),
    close: () => void socket.close(),
  };
}
