import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect as http2Connect } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { connect as netConnect, type Socket } from 'node:net';
import { type DetailedPeerCertificate, connect as tlsConnect } from 'node:tls';

export interface Request {
  readonly port: number;
  /** Host header, and server name when `tls`. */
  readonly host: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  readonly tls?: boolean;
  /** Server name of the handshake when it differs from the host; empty for none. */
  readonly serverName?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const TIMEOUT_MS = 15_000;

/** One request on a connection of its own; the path goes out as it is written. */
export function send(request: Request): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const open = request.tls ? httpsRequest : httpRequest;
  const outgoing = open(
    {
      host: '127.0.0.1',
      port: request.port,
      path: request.path ?? '/',
      method: request.method ?? 'GET',
      headers: { host: request.host, ...request.headers } as Record<string, string>,
      agent: false,
      timeout: TIMEOUT_MS,
      ...(request.tls && {
        rejectUnauthorized: false,
        servername: request.serverName ?? request.host.replace(/:\d+$/, ''),
      }),
    },
    (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    },
  );
  outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer from port ${request.port} in ${TIMEOUT_MS} ms`)));
  outgoing.on('error', reject);
  outgoing.end(request.body);
  return promise;
}

/** One request over HTTP/2 with TLS, on a connection of its own. */
export async function sendHttp2(request: Omit<Request, 'tls'>): Promise<Answer> {
  const session = http2Connect(`https://127.0.0.1:${request.port}`, {
    rejectUnauthorized: false,
    servername: request.serverName ?? request.host,
  });
  try {
    return await new Promise<Answer>((resolve, reject) => {
      session.on('error', reject);
      const stream = session.request({
        ':method': request.method ?? 'GET',
        ':path': request.path ?? '/',
        ':authority': request.host,
        ...(request.headers as Record<string, string>),
      });
      let headers: IncomingHttpHeaders & { readonly ':status'?: number | undefined } = {};
      const chunks: Buffer[] = [];
      stream.setTimeout(TIMEOUT_MS, () => reject(new Error('no answer over HTTP/2')));
      stream.on('response', (received) => {
        headers = received;
      });
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', reject);
      stream.on('end', () =>
        resolve({ status: headers[':status'] ?? 0, headers, body: Buffer.concat(chunks).toString() }),
      );
      stream.end(request.body);
    });
  } finally {
    session.destroy();
  }
}

/** Bytes as they are written, for requests that no client library sends; resolves with everything until the peer closes. */
export function sendRaw(port: number, text: string, { timeoutMs = TIMEOUT_MS } = {}): Promise<string> {
  return exchange(netConnect({ host: '127.0.0.1', port }), port, text, timeoutMs);
}

/** The same over TLS, without a server name. */
export function sendTlsRaw(port: number, text: string, { timeoutMs = TIMEOUT_MS } = {}): Promise<string> {
  return exchange(tlsConnect({ host: '127.0.0.1', port, rejectUnauthorized: false }), port, text, timeoutMs);
}

function exchange(socket: Socket, port: number, text: string, timeoutMs: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`port ${port} did not close the connection`)));
  const received = () => Buffer.concat(chunks).toString('latin1');
  socket.on('data', (chunk) => {
    chunks.push(chunk);
    // Envoy ends a connection a second after it has said that it will.
    if (endsWithLastAnswer(received())) socket.destroy();
  });
  socket.on('error', reject);
  socket.on('close', () => resolve(received()));
  socket.write(text, 'latin1');
  return promise;
}

/** Whether the last of the answers of HTTP/1 is whole and says that the connection ends with it. */
function endsWithLastAnswer(received: string): boolean {
  for (let rest = received; ; ) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd < 0) return false;
    const head = rest.slice(0, headEnd).toLowerCase();
    const length = answerLength(head, rest, headEnd + 4);
    if (length === undefined || rest.length < length) return false;
    if (rest.length === length) return /\r\nconnection: *close/.test(head);
    rest = rest.slice(length);
  }
}

/** Of head and body; `undefined` where the body ends with the connection, or is not whole. */
function answerLength(head: string, text: string, bodyStart: number): number | undefined {
  if (/^http\/1\.\d (?:1\d\d|204|304)/.test(head)) return bodyStart;
  const [, contentLength] = /\r\ncontent-length: *(\d+)/.exec(head) ?? [];
  if (contentLength !== undefined) return bodyStart + Number(contentLength);
  if (!/\r\ntransfer-encoding: *chunked/.test(head)) return undefined;
  const end = text.indexOf('\r\n0\r\n\r\n', bodyStart - 2);
  return end < 0 ? undefined : end + '\r\n0\r\n\r\n'.length;
}

/** The certificate that a server name gets; an empty name sends none. Rejects when the handshake fails. */
export function peerCertificate(port: number, serverName: string): Promise<DetailedPeerCertificate> {
  const { promise, resolve, reject } = Promise.withResolvers<DetailedPeerCertificate>();
  const socket = tlsConnect(
    { host: '127.0.0.1', port, rejectUnauthorized: false, ...(serverName !== '' && { servername: serverName }) },
    () => {
      resolve(socket.getPeerCertificate(true));
      socket.destroy();
    },
  );
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no handshake')));
  socket.on('error', reject);
  return promise;
}
