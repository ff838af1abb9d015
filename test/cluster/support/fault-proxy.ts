/**
 * Between the product and the API server, for faults that an API server shows seldom. It ends TLS, so only tokens work through it.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Cluster } from './cluster.ts';

export interface ProxiedRequest {
  readonly method: string;
  /** Path with query. */
  readonly uri: string;
  /** Plural: `ingresses`. */
  readonly resource: string;
  readonly verb: 'list' | 'watch' | 'other';
}

export type Fault =
  /** This answer instead. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: unknown;
    }
  /** The real answer up to so many bytes, and then the end of the connection. */
  | { readonly kind: 'truncate'; readonly bytes: number }
  /** The connection ends without an answer. */
  | { readonly kind: 'reset' }
  /** No answer, and the connection stays. */
  | { readonly kind: 'hang' }
  /** Goes on when the promise resolves. */
  | { readonly kind: 'wait'; readonly until: Promise<unknown> }
  /** The request goes on with another query. */
  | { readonly kind: 'query'; readonly set: Readonly<Record<string, string>> };

export interface FaultProxy {
  readonly url: string;
  /** What happens to requests from now on; undefined lets them through. */
  setFault(fault: ((request: ProxiedRequest) => Fault | undefined) | undefined): void;
  /** Everything that came. */
  readonly requests: readonly ProxiedRequest[];
  count(verb: ProxiedRequest['verb'], resource: string): number;
  /** Ends every connection. */
  cut(): void;
  /** Answers that are under way say nothing more, and their connections stay; later ones are whole. */
  freeze(): void;
  /** Everything that was sent back so far in answers to watches. */
  watched(): string;
  close(): Promise<void>;
}

const PORT = 6445;

export async function startFaultProxy({ pki }: Cluster): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  const requests: ProxiedRequest[] = [];
  let faultOf: ((request: ProxiedRequest) => Fault | undefined) | undefined;
  let watched = '';
  let frozen = 0;

  const forward = (
    incoming: IncomingMessage,
    response: ServerResponse,
    uri: string,
    limit: number,
    isWatch: boolean,
  ) => {
    const outgoing = httpsRequest({
      host: '127.0.0.1',
      port: 6443,
      ca: pki.ca,
      agent: false,
      method: incoming.method,
      path: uri,
      headers: incoming.headers,
    });
    outgoing.on('error', () => response.destroy());
    outgoing.on('response', (answer) => {
      answer.on('error', () => response.destroy());
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      let sent = 0;
      const begun = frozen;
      answer.on('data', (chunk: Buffer) => {
        if (begun !== frozen) return;
        if (isWatch) watched += chunk.toString();
        response.write(chunk.subarray(0, limit - sent));
        sent += chunk.length;
        if (sent > limit) response.destroy();
      });
      answer.on('end', () => begun === frozen && response.end());
    });
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  };
  const onRequest = async (incoming: IncomingMessage, response: ServerResponse) => {
    const request = describe(incoming);
    requests.push(request);
    const fault = faultOf?.(request);
    let { uri } = request;
    if (fault?.kind === 'answer') {
      response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers });
      response.end(JSON.stringify(fault.body ?? { kind: 'Status', code: fault.status }));
      return;
    }
    if (fault?.kind === 'reset') response.destroy();
    if (fault?.kind === 'reset' || fault?.kind === 'hang') return;
    if (fault?.kind === 'wait') await fault.until;
    // Who gave up meanwhile has not reached the server.
    if (response.destroyed) return;
    if (fault?.kind === 'query') {
      const url = new URL(uri, 'https://proxy');
      for (const [name, value] of Object.entries(fault.set)) url.searchParams.set(name, value);
      uri = `${url.pathname}${url.search}`;
    }
    forward(incoming, response, uri, fault?.kind === 'truncate' ? fault.bytes : Infinity, request.verb === 'watch');
  };
  const server = createServer({ cert: pki.server.chain, key: pki.server.key }, (incoming, response) => {
    void onRequest(incoming, response);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(PORT, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `https://127.0.0.1:${PORT}`,
    requests,
    setFault: (fault) => {
      faultOf = fault;
    },
    count: (verb, resource) => requests.filter((each) => each.verb === verb && each.resource === resource).length,
    cut,
    freeze: () => {
      frozen++;
    },
    watched: () => watched,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}

function describe({ method = '', url: uri = '' }: IncomingMessage): ProxiedRequest {
  const { pathname, searchParams } = new URL(uri, 'https://proxy');
  const parts = pathname.split('/').slice(pathname.startsWith('/apis/') ? 4 : 3);
  const [resource = '', name] = parts[0] === 'namespaces' && parts.length > 2 ? parts.slice(2) : parts;
  const isWatch = ['1', 'true'].includes(searchParams.get('watch') ?? '');
  return {
    method,
    uri,
    resource,
    verb: method === 'GET' && name === undefined ? (isWatch ? 'watch' : 'list') : 'other',
  };
}
