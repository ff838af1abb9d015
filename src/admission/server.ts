/** The HTTPS server of the webhook. Whoever reaches its port may talk to it, so everything that a client can hold is bounded. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { BodyBudget, receiveBody } from './body.ts';
import { followServerPair, type PairFiles, readServerPair } from './certificate-files.ts';
import type { Reply } from './reviewer.ts';

export interface AdmissionServerOptions extends PairFiles {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly review: (body: Buffer, signal: AbortSignal) => Promise<Reply>;
  readonly onLog: (level: 'info' | 'warn', message: string) => void;
  /** How often the files are looked at. Default: 2 s. */
  readonly reloadIntervalMs?: number;
  /** How long a request may take to arrive. Default: 10 s. */
  readonly requestTimeoutMs?: number;
}

export interface AdmissionServer {
  /** Rejects, with a message that says what to change, when the files or the address cannot be used. */
  listen(): Promise<{ readonly port: number }>;
  /** Takes no more requests; those under way are answered, within `graceMs`. */
  close(options?: { readonly graceMs: number }): Promise<void>;
}

const MAX_CONNECTIONS = 1024;
/** With more connections than this, idle ones are closed. */
const MANY_CONNECTIONS = 512;
/** Requests on one connection before the first is answered; API servers send one at a time. */
const MAX_PIPELINED = 8;
/** Longer than API servers keep a connection, so that it is they who close it: a request must not meet a closing one. */
const KEEP_ALIVE_MS = 120_000;
const CHECK_INTERVAL_MS = 500;
const RELOAD_INTERVAL_MS = 2000;
const REQUEST_TIMEOUT_MS = 10_000;
/** Failed handshakes are logged once in this time: anybody can cause them. */
const HANDSHAKE_LOG_MS = 60_000;

export function createAdmissionServer(options: AdmissionServerOptions): AdmissionServer {
  const { onLog, reloadIntervalMs = RELOAD_INTERVAL_MS } = options;
  let server: Server | undefined;
  let follower: { stop(): void } | undefined;
  return {
    listen: async () => {
      const pair = await readServerPair(options);
      const created = createBoundedServer(pair, options);
      server = created;
      const port = await listenOn(created, options);
      follower = followServerPair(options, pair, {
        intervalMs: reloadIntervalMs,
        onPair: (next) => {
          created.setSecureContext({ ...next, ...TLS });
          onLog('info', `the webhook uses the new certificate in ${options.certificatePath}`);
        },
        onFault: (fault) => onLog('warn', `the webhook keeps its certificate: ${fault}`),
      });
      return { port };
    },
    close: async ({ graceMs } = { graceMs: 0 }) => {
      follower?.stop();
      if (server?.listening) await closeServer(server, graceMs);
    },
  };
}

const TLS = { minVersion: 'TLSv1.2' } as const;

function createBoundedServer(
  pair: { readonly cert: Buffer; readonly key: Buffer },
  { review, onLog, requestTimeoutMs = REQUEST_TIMEOUT_MS }: AdmissionServerOptions,
): Server {
  const budget = new BodyBudget();
  const server = createServer({
    ...pair,
    ...TLS,
    handshakeTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  let connections = 0;
  let nextHandshakeLog = 0;
  server.maxConnections = MAX_CONNECTIONS;
  server.on('connection', (socket) => {
    connections++;
    socket.once('close', () => connections--);
    if (connections > MANY_CONNECTIONS) server.closeIdleConnections();
  });
  server.on('tlsClientError', (error) => {
    if (performance.now() < nextHandshakeLog) return;
    nextHandshakeLog = performance.now() + HANDSHAKE_LOG_MS;
    onLog('warn', `a TLS handshake with the webhook failed: ${error.message} (does caBundle fit the certificate?)`);
  });
  // A failed accept (no file descriptors left) is no reason to end.
  server.on('error', (error) => onLog('warn', `the webhook: ${error.message}`));
  const underWay = new WeakMap<object, number>();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const count = (underWay.get(socket) ?? 0) + 1;
    if (count > MAX_PIPELINED) {
      socket.destroy();
      return;
    }
    underWay.set(socket, count);
    response.once('close', () => underWay.set(socket, (underWay.get(socket) ?? 1) - 1));
    void answer(request, response, review, budget).catch(() => response.destroy());
  });
  return server;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  review: AdmissionServerOptions['review'],
  budget: BodyBudget,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  if (request.method !== 'POST') {
    response.setHeader('allow', 'POST');
    return send(response, { status: 405, body: 'AdmissionReviews are sent with POST\n' });
  }
  const body = await receiveBody(request, budget);
  try {
    if (body.kind === 'gone') return;
    const reply = body.kind === 'whole' ? await review(body.bytes, gone.signal) : body.reply;
    send(response, reply);
  } finally {
    budget.release(body.held);
  }
}

function send(response: ServerResponse, { status, body }: Reply): void {
  if (response.destroyed || response.headersSent) return;
  const type = status === 200 ? 'application/json' : 'text/plain';
  // A connection whose request was not read to its end is of no further use.
  const closing = status === 413 ? { connection: 'close' } : {};
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body), ...closing });
  response.end(body);
}

async function listenOn(server: Server, { host, port }: AdmissionServerOptions): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(new Error(listenFault(error, host, port))));
    server.listen({ host, port }, resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

function listenFault({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  if (code === 'EADDRINUSE') return `port ${port} is already in use`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `${host} is no address of this machine`;
  return `cannot listen on ${host}, port ${port}: ${message}`;
}

async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}
