/** A port that takes HTTP/1.1 and HTTP/2, with TLS and without: the first bytes of a connection say which. */
import { createServer as createHttp1Server, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Address } from '../model/proxy-model.ts';

export type EchoRequest = IncomingMessage | Http2ServerRequest;
export type EchoResponse = ServerResponse | Http2ServerResponse;

/** PEM. */
export interface ServerPair {
  readonly cert: string;
  readonly key: string;
}

export interface EchoListenerOptions {
  /** What clients with TLS are shown. */
  readonly pair: ServerPair;
  onRequest(request: EchoRequest, response: EchoResponse): void;
  onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

export interface EchoListener {
  readonly address: Address;
  /** Takes no new connections. Those in use end by themselves. */
  release(): void;
  close(): Promise<void>;
}

/** Longer than a proxy keeps an idle connection, so that it never sends a request into one that is being closed; ms. */
const KEEP_ALIVE_TIMEOUT = 120_000;
/** More than a proxy lets through; bytes. */
const MAX_HEADER_SIZE = 256 * 1024;
const SETTINGS = { maxHeaderListSize: MAX_HEADER_SIZE };

/** The first byte of a TLS handshake. */
const TLS_HANDSHAKE = 0x16;
/** What a connection of HTTP/2 begins with; no method of HTTP/1.1 begins so. */
const HTTP2_PREFACE = Buffer.from('PRI * HTTP/2.0');

export async function listenForEcho({ pair, onRequest, onUpgrade }: EchoListenerOptions): Promise<EchoListener> {
  const sessions = new Set<ServerHttp2Session>();
  const remember = (session: ServerHttp2Session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  };
  const http1 = createHttp1Server({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT, maxHeaderSize: MAX_HEADER_SIZE }, onRequest);
  http1.on('upgrade', onUpgrade);
  http1.on('clientError', (_, socket) => socket.destroy());
  // Streams may last as long as they like.
  http1.requestTimeout = 0;
  // Made when they are needed: most ports never see them.
  const http2 = once(() => createHttp2Server({ settings: SETTINGS }, onRequest).on('session', remember));
  const secure = once(() => {
    const server = createSecureServer({ ...pair, allowHTTP1: true, settings: SETTINGS }, onRequest);
    server.on('session', remember);
    server.on('upgrade', onUpgrade);
    return server.on('tlsClientError', (_, socket) => socket.destroy());
  });

  const sockets = new Set<Socket>();
  const port = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    readFirstBytes(socket, (first) => {
      const server = first[0] === TLS_HANDSHAKE ? secure() : isPreface(first) ? http2() : http1;
      server.emit('connection', socket);
    });
  });
  await new Promise<void>((resolve, reject) => {
    port.once('error', reject);
    port.listen(0, '127.0.0.1', resolve);
  });
  // A TCP server that listens has no other kind of address.
  const { address, port: number } = port.address() as AddressInfo;
  return {
    address: { ip: address, port: number },
    release() {
      port.close();
      http1.closeIdleConnections();
      for (const session of sessions) session.close();
    },
    async close() {
      const closed = new Promise((resolve) => port.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

function isPreface(first: Buffer): boolean {
  return first.subarray(0, HTTP2_PREFACE.length).equals(HTTP2_PREFACE);
}

/** As many as it takes to know; they are put back for whoever reads on. A client that says less, and goes, is forgotten. */
function readFirstBytes(socket: Socket, then: (first: Buffer) => void): void {
  let first: Buffer = Buffer.alloc(0);
  const look = () => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    first = Buffer.concat([first, chunk]);
    if (first.length < HTTP2_PREFACE.length && HTTP2_PREFACE.subarray(0, first.length).equals(first)) return;
    socket.off('readable', look);
    socket.off('end', give);
    socket.unshift(first);
    then(first);
  };
  const give = () => socket.destroy();
  socket.on('readable', look);
  socket.once('end', give);
}
