/** What the table about copies of requests asks: a server to which copies go, and which tells what it has received. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { createServer as createTcpServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { DifferenceName } from '../parity/differences.ts';
import type { Exchange, Ports } from '../parity/table.ts';
import { type Request, send } from '../support/http-client.ts';
import { endpointSlice, ingress, type Manifest, service } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { annotated } from './table.ts';

/** One copy as it arrived. */
export interface Copy {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: number;
  /** Of the handshake; absent without TLS. */
  readonly serverName?: string;
}

export interface CopyServer {
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Accepts connections and reads nothing of them. */
  readonly deafPort: number;
  /** A host that tells about copies. */
  readonly manifests: readonly Manifest[];
  close(): Promise<void>;
}

const TELLS = 'tells.copies.example.com';

/** By the header `x-tag`, or their path. `GET /TAG` on the host that tells is answered when its copy is there, `GET /TAG?now` at once. */
export async function startCopyServer(): Promise<CopyServer> {
  const copies = new Map<string, Copy>();
  const waiting = new Map<string, () => void>();
  const receive = (request: IncomingMessage, response: ServerResponse) => {
    let bytes = 0;
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on('end', () => {
      const { method = '', url = '', headers, socket } = request;
      const { servername } = socket as Partial<TLSSocket>;
      const tag = String(headers['x-tag'] ?? url.slice(1));
      copies.set(tag, {
        method,
        url,
        headers,
        bytes,
        ...(servername !== undefined && { serverName: String(servername) }),
      });
      waiting.get(tag)?.();
      // Nobody may see it.
      response.writeHead(500, { 'x-copy': 'answered' }).end('the answer to a copy');
    });
  };
  const tell = ({ url = '' }: IncomingMessage, response: ServerResponse) => {
    const [tag = '', now] = url.slice(1).split('?');
    const answer = () => response.end(JSON.stringify(copies.get(tag) ?? 'none'));
    if (now !== undefined || copies.has(tag)) answer();
    else waiting.set(tag, answer);
  };
  const { chain, key } = await makePair(['somebody.example.org']);
  const deaf = new Set<Socket>();
  const servers: readonly Server[] = [
    createServer(receive),
    createSecureServer({ cert: chain, key }, receive),
    createTcpServer({ pauseOnConnect: true }, (socket) => deaf.add(socket.on('error', () => undefined))),
    createServer(tell),
  ];
  const [httpPort = 0, httpsPort = 0, deafPort = 0, tellPort = 0] = await Promise.all(servers.map(listen));
  return {
    httpPort,
    httpsPort,
    deafPort,
    manifests: [
      service('tells'),
      endpointSlice('tells', ['127.0.0.1'], { port: tellPort }),
      ingress({ name: 'tells', rules: [{ host: TELLS, paths: [{ path: '/', service: 'tells:80' }] }] }),
    ],
    close: async () => {
      for (const socket of deaf) socket.destroy();
      for (const server of servers) {
        if ('closeAllConnections' in server) (server as ReturnType<typeof createServer>).closeAllConnections();
        server.close();
        await once(server, 'close');
      }
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A host whose requests are copied; by its name, `NAME.copies.example.com`. */
export function host(name: string, annotations: Readonly<Record<string, string>>, more: object = {}): Manifest {
  return ingress({
    name,
    annotations: annotated(annotations),
    rules: [{ host: hostOf(name), paths: [{ path: '/' }] }],
    ...more,
  });
}

function hostOf(name: string): string {
  return `${name}.copies.example.com`;
}

type Wanted = Partial<Omit<Request, 'port' | 'host' | 'tls'>>;

/** What becomes of a request, and of its copy. `expected`: of the copy, as far as it is said. */
export function copied(name: string, request: Wanted, expected: Partial<Copy>): Exchange {
  return {
    title: `${name}: a copy of ${request.method ?? 'GET'} ${request.path ?? '/'}`,
    run: async (ports: Ports) => {
      const tag = randomUUID();
      const { status } = await tagged(ports, name, tag, request);
      const copy = (await told(ports, `/${tag}`)) as Copy;
      const headers = Object.keys(expected.headers ?? {}).map((header) => [header, copy.headers[header]]);
      const seen = { ...copy, headers: Object.fromEntries(headers) } as unknown as Record<string, unknown>;
      return { status, copy: Object.fromEntries(Object.keys(expected).map((field) => [field, seen[field]])) };
    },
    expected: { status: 200, copy: expected },
  };
}

/** That a request is not copied: when the copy of a later one is there, its own is not. */
export function notCopied(name: string, request: Wanted, status: number, because = ''): Exchange {
  return {
    title: `${name}: no copy of ${request.method ?? 'GET'} ${request.path ?? '/'}${because && `, ${because}`}`,
    run: async (ports: Ports) => {
      const tag = randomUUID();
      const answer = await tagged(ports, name, tag, request);
      return { status: answer.status, copied: await isThere(ports, tag, 1) };
    },
    expected: { status, copied: false },
  };
}

/** Something that nginx alone copies. */
export function copiedByNginx(
  title: string,
  differs: DifferenceName,
  start: (ports: Ports, tag: string) => Promise<number>,
  status: number,
): Exchange {
  return {
    title,
    run: async (ports: Ports) => {
      const tag = randomUUID();
      return { status: await start(ports, tag), copied: await isThere(ports, tag, 20) };
    },
    expected: { status, copied: false },
    differs,
    nginx: { status, copied: true },
  };
}

/** Whether the copy is there before those of so many later requests, one after the other. */
async function isThere(ports: Ports, tag: string, requests: number): Promise<boolean> {
  for (let index = 0; index < requests; index++) {
    const later = randomUUID();
    await tagged(ports, 'whole', later, {});
    await told(ports, `/${later}`);
    if ((await told(ports, `/${tag}?now`)) !== 'none') return true;
  }
  return false;
}

export function tagged({ httpPort }: Ports, name: string, tag: string, { headers, ...request }: Wanted) {
  return send({ port: httpPort, host: hostOf(name), ...request, headers: { ...headers, 'x-tag': tag } });
}

export async function told({ httpPort }: Ports, path: string): Promise<unknown> {
  return JSON.parse((await send({ port: httpPort, host: TELLS, path })).body);
}
