/** The built-in backend of `--echo`: answers for Services and shows what they would have received. */
import type { TLSSocket } from 'node:tls';
import type { LocalEndpointsKey } from '../cluster/cluster-state.ts';
import type { Address } from '../model/proxy-model.ts';
import {
  type EchoListener,
  type EchoRequest,
  type EchoResponse,
  listenForEcho,
  type ServerPair,
} from './echo-listener.ts';
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
  /** Absent for HTTP/1. */
  readonly protocol?: 'HTTP/2';
  /** Absent without TLS; the server name is empty where the handshake had none. */
  readonly tls?: { readonly serverName: string };
  /** By lower-case name; values of repeated headers are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly bytes: number; readonly text?: string };
}

/** Bodies up to this size are shown; bytes. */
const SHOWN_BODY_SIZE = 16 * 1024;

/** @param makePair what clients with TLS are shown; it is asked for once. */
export function createEcho(makePair: () => Promise<ServerPair>): Echo {
  const all = new Map<LocalEndpointsKey, Promise<EchoListener>>();
  let pair: Promise<ServerPair> | undefined;

  async function listen(ref: ServicePortRef): Promise<EchoListener> {
    pair ??= makePair();
    return listenForEcho({
      pair: await pair,
      onRequest: (request, response) => answer(ref, request, response),
      onUpgrade(request, socket, head) {
        socket.on('error', () => socket.destroy());
        if (isWebSocketRequest(request)) echoWebSocket(request, socket, head, [`x-echo-service: ${serviceOf(ref)}`]);
        else socket.end('HTTP/1.1 501 Not Implemented\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
      },
    });
  }

  async function ensure(refs: Iterable<ServicePortRef>): Promise<ReadonlyMap<LocalEndpointsKey, Address>> {
    const addresses: Promise<readonly [LocalEndpointsKey, Address]>[] = [];
    for (const ref of refs) {
      const key = servicePortKey(ref);
      const listening = all.get(key) ?? listen(ref);
      all.set(key, listening);
      addresses.push(listening.then(({ address }) => [key, address]));
    }
    return new Map(await Promise.all(addresses));
  }

  async function release(ref: ServicePortRef): Promise<void> {
    const key = servicePortKey(ref);
    const listening = all.get(key);
    all.delete(key);
    (await listening)?.release();
  }

  async function close(): Promise<void> {
    const listening = await Promise.all(all.values());
    all.clear();
    await Promise.all(listening.map((listener) => listener.close()));
  }

  return { ensure, release, close };
}

function answer(ref: ServicePortRef, request: EchoRequest, response: EchoResponse): void {
  const shown: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= SHOWN_BODY_SIZE) shown.push(chunk);
    else shown.length = 0;
  });
  request.on('end', () => {
    if (request.headers['content-type']?.startsWith('application/grpc')) {
      refuseCall(ref, request, response);
      return;
    }
    const text = bytes > 0 && bytes <= SHOWN_BODY_SIZE ? utf8(Buffer.concat(shown)) : undefined;
    const body = `${JSON.stringify(describe(ref, request, { bytes, ...(text !== undefined && { text }) }), null, 2)}\n`;
    response.setHeader('content-type', 'application/json');
    response.end(body);
  });
}

/** A client of gRPC learns who was called, in the only form in which it shows text. */
function refuseCall(ref: ServicePortRef, request: EchoRequest, response: EchoResponse): void {
  const message = `${serviceOf(ref)} (port ${ref.port}) was called for ${request.url ?? ''}`;
  const unimplemented = { 'content-type': 'application/grpc', 'grpc-status': '12', 'grpc-message': encodeURI(message) };
  for (const [name, value] of Object.entries(unimplemented)) response.setHeader(name, value);
  response.end();
}

function describe(ref: ServicePortRef, request: EchoRequest, body: EchoAnswer['body']): EchoAnswer {
  const url = request.url ?? '';
  const question = url.indexOf('?');
  return {
    service: serviceOf(ref),
    port: ref.port,
    method: request.method ?? '',
    path: question < 0 ? url : url.slice(0, question),
    ...(question >= 0 && { query: url.slice(question + 1) }),
    ...(request.httpVersionMajor === 2 && { protocol: 'HTTP/2' }),
    ...('encrypted' in request.socket && { tls: { serverName: (request.socket as TLSSocket).servername || '' } }),
    headers: joinedHeaders(request),
    body,
  };
}

/** Of every header all values: Node's own `headers` drops the second of some. */
function joinedHeaders(request: EchoRequest): Readonly<Record<string, string>> {
  const headers = new Map<string, string>();
  const { rawHeaders } = request;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    const value = rawHeaders[at + 1] ?? '';
    // HTTP/2 has no other name for it.
    const key = name === ':authority' ? 'host' : name;
    if (!key.startsWith(':')) headers.set(key, headers.has(key) ? `${headers.get(key)}, ${value}` : value);
  }
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
