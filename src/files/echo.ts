/** The built-in backend of `--echo`: answers for Services and shows what they would have received. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { LocalEndpointsKey } from '../cluster/cluster-state.ts';
import type { Address } from '../model/proxy-model.ts';
import { echoWebSocket, isWebSocketRequest } from './echo-websocket.ts';
import { type ServicePortRef, servicePortKey } from './service-ports.ts';

export interface Echo {
  /** The loopback address that answers for each of these Service ports; it listens from now on and stays the same. */
  ensure(refs: Iterable<ServicePortRef>): Promise<ReadonlyMap<LocalEndpointsKey, Address>>;
  /** Takes no new connections for this Service port. Those in use end by themselves. */
  release(ref: ServicePortRef): Promise<void>;
  /** Ends everything. */
  close(): Promise<void>;
}

/** What the echo answers, as JSON. */
export interface EchoAnswer {
  /** `namespace/name`. */
  readonly service: string;
  /** As written in the Ingress. */
  readonly port: string;
  readonly method: string;
  /** As it arrived: encoded, without the query. */
  readonly path: string;
  /** What follows the question mark; absent without one. */
  readonly query?: string;
  /** By lower-case name; values of repeated headers are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly bytes: number; readonly text?: string };
}

interface Listening {
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
}

/** Longer than a proxy keeps an idle connection, so that it never sends a request into one that is being closed; ms. */
const KEEP_ALIVE_TIMEOUT = 120_000;
/** More than a proxy lets through; bytes. */
const MAX_HEADER_SIZE = 256 * 1024;
/** Bodies up to this size are shown; bytes. */
const SHOWN_BODY_SIZE = 16 * 1024;

export function createEcho(): Echo {
  const all = new Map<LocalEndpointsKey, Promise<Listening>>();

  async function ensure(refs: Iterable<ServicePortRef>): Promise<ReadonlyMap<LocalEndpointsKey, Address>> {
    const addresses: Promise<readonly [LocalEndpointsKey, Address]>[] = [];
    for (const ref of refs) {
      const key = servicePortKey(ref);
      const listening = all.get(key) ?? listen(ref);
      all.set(key, listening);
      addresses.push(listening.then(({ server }) => [key, addressOf(server)]));
    }
    return new Map(await Promise.all(addresses));
  }

  async function release(ref: ServicePortRef): Promise<void> {
    const key = servicePortKey(ref);
    const listening = all.get(key);
    all.delete(key);
    const server = (await listening)?.server;
    server?.close();
    server?.closeIdleConnections();
  }

  async function close(): Promise<void> {
    const listening = await Promise.all(all.values());
    all.clear();
    await Promise.all(listening.map(closeNow));
  }

  return { ensure, release, close };
}

async function listen(ref: ServicePortRef): Promise<Listening> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT, maxHeaderSize: MAX_HEADER_SIZE });
  // Streams may last as long as they like.
  server.requestTimeout = 0;
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('request', (request, response) => answer(ref, request, response));
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    if (isWebSocketRequest(request)) echoWebSocket(request, socket, head, [`x-echo-service: ${serviceOf(ref)}`]);
    else socket.end('HTTP/1.1 501 Not Implemented\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return { server, sockets };
}

function addressOf(server: Server): Address {
  // A TCP server that listens has no other kind of address.
  const { address, port } = server.address() as AddressInfo;
  return { ip: address, port };
}

async function closeNow({ server, sockets }: Listening): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  for (const socket of sockets) socket.destroy();
  await closed;
}

function answer(ref: ServicePortRef, request: IncomingMessage, response: ServerResponse): void {
  const shown: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= SHOWN_BODY_SIZE) shown.push(chunk);
    else shown.length = 0;
  });
  request.on('end', () => {
    const text = bytes > 0 && bytes <= SHOWN_BODY_SIZE ? utf8(Buffer.concat(shown)) : undefined;
    const body = `${JSON.stringify(describe(ref, request, { bytes, ...(text !== undefined && { text }) }), null, 2)}\n`;
    response.setHeader('content-type', 'application/json');
    response.end(body);
  });
}

function describe(ref: ServicePortRef, request: IncomingMessage, body: EchoAnswer['body']): EchoAnswer {
  const url = request.url ?? '';
  const question = url.indexOf('?');
  return {
    service: serviceOf(ref),
    port: ref.port,
    method: request.method ?? '',
    path: question < 0 ? url : url.slice(0, question),
    ...(question >= 0 && { query: url.slice(question + 1) }),
    headers: joinedHeaders(request),
    body,
  };
}

/** Of every header all values: Node's own `headers` drops the second of some. */
function joinedHeaders(request: IncomingMessage): Readonly<Record<string, string>> {
  const headers = new Map<string, string>();
  for (const [name, values = []] of Object.entries(request.headersDistinct)) headers.set(name, values.join(', '));
  return Object.fromEntries(headers);
}

function serviceOf({ namespace, service }: ServicePortRef): string {
  return `${namespace}/${service}`;
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
