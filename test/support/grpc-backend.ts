/** A pod that speaks gRPC, and a client for it. */
import { once } from 'node:events';
import { connect, createSecureServer, createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Backend } from './backend.ts';
import { endpointSlice } from './manifests.ts';
import type { Pair } from './pki.ts';

/** A message of gRPC with five bytes of content. */
const MESSAGE = Buffer.from([0, 0, 0, 0, 5, ...Buffer.from('hello')]);

/**
 * Answers each call with the message that it got, and says in its headers who it is and what it was asked (`seen-authority`,
 * `seen-forwarded-proto`). Its status comes in the trailers: 0, or what the path says (`/status/7`).
 * @param pair with it, it speaks TLS.
 */
export async function startGrpcBackend(name: string, pair?: Pair): Promise<Backend> {
  const server =
    pair === undefined ? createServer() : createSecureServer({ cert: pair.chain, key: pair.key, allowHTTP1: false });
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => undefined);
  });
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    const [, status = '0'] = /^\/status\/(\d+)$/.exec(headers[':path'] ?? '') ?? [];
    stream.respond(
      {
        ':status': 200,
        'content-type': 'application/grpc',
        'seen-backend': name,
        // nginx names the host in a header of HTTP/1.
        'seen-authority': headers[':authority'] ?? headers.host ?? '',
        'seen-forwarded-proto': String(headers['x-forwarded-proto']),
      },
      { waitForTrailers: true },
    );
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }));
    stream.on('error', () => undefined);
    stream.pipe(stream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    name,
    port,
    slice: (service, more = {}) => endpointSlice(service, ['127.0.0.1'], { port, suffix: name, ...more }),
    close: async () => {
      for (const session of sessions) session.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** What a client of gRPC sees. */
export interface GrpcAnswer {
  readonly status: number;
  readonly backend: string | undefined;
  readonly authority: string | undefined;
  readonly scheme: string | undefined;
  readonly body: string;
  /** From the trailers, or from the headers where there is nothing else. */
  readonly grpcStatus: string | undefined;
}

/** One call over HTTP/2, on a connection of its own. */
export async function callGrpc(target: {
  readonly port: number;
  readonly tls: boolean;
  readonly host: string;
  readonly path: string;
}): Promise<GrpcAnswer> {
  const { port, tls, host, path } = target;
  const session = connect(`${tls ? 'https' : 'http'}://127.0.0.1:${port}`, {
    rejectUnauthorized: false,
    servername: host,
  });
  const { promise, resolve, reject } = Promise.withResolvers<GrpcAnswer>();
  session.on('error', reject);
  const stream = session.request({
    ':method': 'POST',
    ':scheme': tls ? 'https' : 'http',
    ':authority': host,
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  let seen: Record<string, unknown> = {};
  const chunks: Buffer[] = [];
  stream.on('response', (headers) => {
    seen = { ...headers };
  });
  stream.on('trailers', (trailers) => {
    seen = { ...seen, ...trailers };
  });
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('error', reject);
  stream.on('end', () => {
    const text = (name: string) => (seen[name] === undefined ? undefined : String(seen[name]));
    resolve({
      status: Number(seen[':status']),
      backend: text('seen-backend'),
      authority: text('seen-authority'),
      scheme: text('seen-forwarded-proto'),
      body: Buffer.concat(chunks).subarray(5).toString(),
      grpcStatus: text('grpc-status'),
    });
  });
  stream.end(MESSAGE);
  try {
    return await promise;
  } finally {
    session.destroy();
  }
}
