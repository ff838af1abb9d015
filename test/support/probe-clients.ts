/** The clients of the probe: each sends one kind of traffic to one host. */
import { type ClientRequest, type Agent as HttpAgent, request as httpRequest, type RequestOptions } from 'node:http';
import { type ClientHttp2Session, connect as http2Connect } from 'node:http2';
import { type Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface Target {
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly host: string;
}

/** A client that sends on while the proxy says goodbye loses requests, whoever the proxy is; so it changes before. */
const HTTP2_REQUESTS_PER_CONNECTION = 900;
const REQUEST_TIMEOUT_MS = 10_000;

export interface Http1Way {
  readonly tls: boolean;
  /** Absent: a connection of its own, and with TLS a whole handshake. */
  readonly agent?: HttpAgent | HttpsAgent;
  /** Called with the connection of each request. */
  readonly onSocket?: (socket: Socket) => void;
}

/** Resolves to the status when the whole answer has come. */
export function getHttp1(target: Target, { tls, agent, onSocket }: Http1Way): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const outgoing = http1Request(target, tls, { agent: agent ?? false });
  outgoing.on('response', (response) => {
    response.resume();
    response.on('end', () => resolve(response.statusCode ?? 0));
    response.on('error', reject);
  });
  outgoing.setTimeout(REQUEST_TIMEOUT_MS, () => outgoing.destroy(new Error('no answer')));
  if (onSocket) outgoing.on('socket', onSocket);
  outgoing.on('error', reject);
  outgoing.end();
  return promise;
}

function http1Request(target: Target, tls: boolean, options: RequestOptions): ClientRequest {
  const common = { host: '127.0.0.1', path: '/probe', ...options, headers: { host: target.host, ...options.headers } };
  return tls
    ? httpsRequest({ ...common, port: target.httpsPort, servername: target.host, rejectUnauthorized: false })
    : httpRequest({ ...common, port: target.httpPort });
}

interface Http2Connection {
  readonly session: ClientHttp2Session;
  requests: number;
}

/** One connection at a time. `lose` is told when the proxy ends it. */
export function createHttp2(target: Target, lose: (what: string) => void) {
  let current: Http2Connection | undefined;
  const connect = (): Http2Connection => {
    const session = http2Connect(`https://127.0.0.1:${target.httpsPort}`, {
      rejectUnauthorized: false,
      servername: target.host,
    });
    const connection = { session, requests: 0 };
    session.on('error', () => {});
    let ended = false;
    const onEnd = () => {
      if (connection === current && !ended) lose(`HTTP/2 connection after ${connection.requests} requests`);
      ended = true;
    };
    session.on('goaway', onEnd).on('close', onEnd);
    return connection;
  };
  const connection = (): Http2Connection => {
    const used = current;
    if (used === undefined || used.session.closed || used.session.destroyed) current = connect();
    else if (used.requests >= HTTP2_REQUESTS_PER_CONNECTION) {
      current = connect();
      used.session.close();
    }
    return current as Http2Connection;
  };
  return {
    get: (): Promise<number> => {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const open = connection();
      open.requests++;
      const stream = open.session.request({ ':path': '/probe', ':authority': target.host });
      stream.setTimeout(REQUEST_TIMEOUT_MS, () => reject(new Error('no answer')));
      let status = 0;
      stream.on('response', (headers) => {
        status = headers[':status'] ?? 0;
      });
      stream.resume();
      stream.on('end', () => resolve(status));
      stream.on('error', reject);
      stream.end();
      return promise;
    },
    close: () => current?.session.destroy(),
  };
}

/** A text frame `ping` with a mask of zeros; an echo of it has no mask. */
const PING = Buffer.from([0x81, 0x84, 0, 0, 0, 0, ...Buffer.from('ping')]);
const ECHOED_BYTES = 6;

export interface WebSocketClient {
  send(): void;
  /** Messages that came back. */
  received(): number;
  close(): void;
}

export async function openWebSocket(target: Target, tls: boolean, onClose: () => void): Promise<WebSocketClient> {
  const opened = Promise.withResolvers<Duplex>();
  const outgoing = http1Request(target, tls, {
    agent: false,
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': Buffer.from('0123456789abcdef').toString('base64'),
    },
  });
  outgoing.on('upgrade', (_response, socket) => opened.resolve(socket));
  outgoing.on('response', (response) => opened.reject(new Error(`no WebSocket: status ${response.statusCode}`)));
  outgoing.on('error', opened.reject);
  outgoing.end();
  const socket = await opened.promise;
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  socket.on('error', () => {});
  socket.on('close', onClose);
  return {
    send: () => void socket.write(PING),
    received: () => Math.floor(bytes / ECHOED_BYTES),
    close: () => socket.destroy(),
  };
}
