/** A standing load that tolerates no failed request and no closed connection. */
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { type ClientHttp2Session, connect as http2Connect } from 'node:http2';
import type { Socket } from 'node:net';

export interface ProbeOptions {
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly host: string;
  /** Requests per second, all kinds together. */
  readonly rate: number;
}

export interface ProbeReport {
  readonly requests: number;
  /** One line each; empty is what is wanted. */
  readonly failures: readonly string[];
  /** Connections that ended before they had served as many requests as they may. */
  readonly closed: readonly string[];
  /** Messages that came back over the WebSocket. */
  readonly messages: number;
  readonly seconds: number;
}

export interface Probe {
  /** Requests sent so far. */
  sent(): number;
  stop(): Promise<ProbeReport>;
}

/** `keep-alive-requests`: a connection is closed after that many, and nobody counts it as lost. */
const REQUESTS_PER_CONNECTION = 1000;
const TICK_MS = 20;
const MAX_SECONDS = 120;
const MAX_PER_TICK = 40;
/** A client that sends on while the proxy says goodbye loses requests, whoever the proxy is; so it changes before. */
const HTTP2_REQUESTS_PER_CONNECTION = 900;

/**
 * Half of the requests go over kept HTTP/1.1 connections, some over new ones, the rest over HTTP/2 with TLS; beside them one
 * WebSocket that sends a message in every tick. The backend must answer every path with 200 and echo WebSocket frames.
 */
export async function startProbe(options: ProbeOptions): Promise<Probe> {
  const failures: string[] = [];
  const closed: string[] = [];
  const inFlight = new Set<Promise<void>>();
  let requests = 0;
  let stopping = false;
  const lose = (what: string) => {
    if (!stopping) closed.push(what);
  };
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const served = new Map<Socket, number>();
  const http2 = createHttp2(options, lose);
  const webSocket = await openWebSocket(options, lose);

  const track = (kind: string, sent: Promise<number>) => {
    requests++;
    const done = sent
      .then(
        (status) => void (status !== 200 && failures.push(`${kind}: status ${status}`)),
        (error: Error) => void failures.push(`${kind}: ${error.message}`),
      )
      .finally(() => inFlight.delete(done));
    inFlight.add(done);
  };
  const onSocket = (socket: Socket) => {
    if (!served.has(socket)) {
      socket.once('close', () => {
        if ((served.get(socket) ?? 0) < REQUESTS_PER_CONNECTION)
          lose(`HTTP/1.1 connection after ${served.get(socket)} requests`);
      });
    }
    served.set(socket, (served.get(socket) ?? 0) + 1);
  };

  const begin = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const seconds = (performance.now() - begin) / 1000;
    if (seconds > MAX_SECONDS) return;
    // What a busy machine could not send in time is sent in the next ticks, up to a limit: the probe is a load, not a flood.
    const due = Math.min(Math.floor(seconds * options.rate) - sent, MAX_PER_TICK);
    for (let index = 0; index < due; index++) {
      const kind = (sent + index) % 10;
      if (kind < 5) track('kept connection', getHttp1(options, agent, onSocket));
      else if (kind < 6)
        track(
          'new connection',
          getHttp1(options, undefined, () => {}),
        );
      else track('HTTP/2', http2.get());
    }
    sent += Math.max(0, due);
    webSocket.send();
  }, TICK_MS);

  return {
    sent: () => requests,
    stop: async () => {
      clearInterval(timer);
      await Promise.all(inFlight);
      stopping = true;
      agent.destroy();
      http2.close();
      webSocket.close();
      return {
        requests,
        failures,
        closed,
        messages: webSocket.received(),
        seconds: (performance.now() - begin) / 1000,
      };
    },
  };
}

const REQUEST_TIMEOUT_MS = 10_000;

function getHttp1(
  options: ProbeOptions,
  agent: Agent | undefined,
  onSocket: (socket: Socket) => void,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const outgoing = httpRequest(
    {
      host: '127.0.0.1',
      port: options.httpPort,
      path: '/probe',
      headers: { host: options.host },
      agent: agent ?? false,
    },
    (response: IncomingMessage) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
      response.on('error', reject);
    },
  );
  outgoing.setTimeout(REQUEST_TIMEOUT_MS, () => outgoing.destroy(new Error('no answer')));
  outgoing.on('socket', onSocket);
  outgoing.on('error', reject);
  outgoing.end();
  return promise;
}

interface Http2Connection {
  readonly session: ClientHttp2Session;
  requests: number;
}

function createHttp2(options: ProbeOptions, lose: (what: string) => void) {
  let current: Http2Connection | undefined;
  const connect = (): Http2Connection => {
    const session = http2Connect(`https://127.0.0.1:${options.httpsPort}`, {
      rejectUnauthorized: false,
      servername: options.host,
    });
    const connection = { session, requests: 0 };
    session.on('error', () => {});
    session.on('goaway', () => {
      if (connection === current) lose(`HTTP/2 connection after ${connection.requests} requests`);
    });
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
      const stream = open.session.request({ ':path': '/probe', ':authority': options.host });
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

async function openWebSocket(options: ProbeOptions, lose: (what: string) => void) {
  const opened = Promise.withResolvers<Socket>();
  const outgoing = httpRequest({
    host: '127.0.0.1',
    port: options.httpPort,
    path: '/probe',
    agent: false,
    headers: {
      host: options.host,
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
  socket.on('close', () => lose('WebSocket'));
  return {
    send: () => void socket.write(PING),
    received: () => Math.floor(bytes / ECHOED_BYTES),
    close: () => socket.destroy(),
  };
}
