/** A backend whose answers can be compressed, and what a client sees of them. */
import { randomUUID } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { brotliCompressSync, brotliDecompressSync, constants, createGunzip, gunzipSync, gzipSync } from 'node:zlib';
import type { Ports } from '../parity/table.ts';
import { type Backend, startBackend } from '../support/backend.ts';

/** What the backend is asked to answer, in the query of a request. */
export interface Wanted {
  readonly type?: string;
  readonly status?: number;
  /** Bytes of the body; default: 20,000. */
  readonly length?: number;
  /** Whether the answer says how long it is; default: yes. */
  readonly saysLength?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Asked extends Wanted {
  /** `Accept-Encoding` */
  readonly accept?: string;
  readonly method?: string;
  /** `User-Agent` */
  readonly agent?: string;
}

/** What came, without what differs each time. `length`: of a body that came as it is. */
export interface Seen {
  readonly status: number;
  /** `Content-Encoding`, under which the body is whole, or is not. */
  readonly encoding: string | undefined;
  readonly whole: boolean;
  readonly vary: string | undefined;
  readonly etag: string | undefined;
  /** What the backend got as `Accept-Encoding`. */
  readonly received: unknown;
}

const LENGTH = 20_000;

export function startCompressibleBackend(name: string): Promise<Backend> {
  return startBackend(name, answer);
}

/** Streams of events that are open, by the name that the client gave. */
const streams = new Map<string, ServerResponse>();

/** `?stream=NAME` sends an event and waits for `?end=NAME`, with which the stream ends. */
function stream(query: URLSearchParams, response: ServerResponse): void {
  const open = streams.get(query.get('end') ?? '');
  if (open !== undefined) {
    open.end('data: second\n\n');
    response.end();
    return;
  }
  streams.set(query.get('stream') ?? '', response);
  response.setHeader('content-type', 'text/event-stream');
  response.write('data: first\n\n');
}

/** The events of a stream that the backend ends once the first of them has arrived, and how they were encoded. */
export async function readEvents({ httpPort }: Ports, host: string): Promise<readonly unknown[]> {
  const name = randomUUID();
  const get = (query: string, headers: Readonly<Record<string, string>>) => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const options = {
      host: '127.0.0.1',
      port: httpPort,
      path: `/?${query}`,
      headers: { host, ...headers },
      agent: false,
    };
    httpRequest(options, resolve).on('error', reject).end();
    return promise;
  };
  const answer = await get(`stream=${name}`, { 'accept-encoding': 'gzip' });
  const encoding = answer.headers['content-encoding'];
  const events: string[] = [];
  for await (const chunk of encoding === 'gzip' ? answer.pipe(createGunzip()) : answer) {
    events.push(String(chunk));
    if (events.length === 1) (await get(`end=${name}`, {})).resume();
  }
  return [encoding, ...events];
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const query = new URLSearchParams(request.url?.split('?')[1]);
  if (query.has('stream') || query.has('end')) {
    stream(query, response);
    return;
  }
  const wanted = JSON.parse(query.get('wanted') ?? '{}') as Wanted;
  const { type = 'text/css', status = 200, length = LENGTH, saysLength = true, headers = {} } = wanted;
  response.statusCode = status;
  if (type !== '') response.setHeader('content-type', type);
  for (const [header, value] of Object.entries(headers)) response.setHeader(header, value);
  response.setHeader('x-received', String(request.headers['accept-encoding']));
  const body = bodyOf(length);
  if (saysLength) response.setHeader('content-length', body.length);
  else response.write(body.subarray(0, 10));
  response.end(saysLength ? body : body.subarray(10));
}

/** Words that repeat as words do, so that one level compresses them better than another. */
function bodyOf(length: number): Buffer {
  let state = 1;
  let text = '';
  while (text.length < length) {
    state = (state * 48_271) % 2_147_483_647;
    text += `${(state % 500).toString(36)}-${(state % 7).toString(2)} `;
  }
  return Buffer.from(text.slice(0, length));
}

/** One request on a connection of its own. */
export async function ask(ports: Ports, host: string, asked: Asked): Promise<Seen> {
  const { status, headers, body } = await fetchBytes(ports, host, asked);
  const encoding = headers['content-encoding'];
  const expected = asked.method === 'HEAD' ? Buffer.alloc(0) : bodyOf(asked.length ?? LENGTH);
  return {
    status,
    encoding,
    whole: decoded(encoding, body).equals(expected),
    vary: headers['vary'],
    etag: headers['etag'],
    received: headers['x-received'],
  };
}

/** Which of two levels the answer was compressed with, told by its length. */
export async function levelOf(ports: Ports, host: string, asked: Asked, levels: readonly number[]): Promise<unknown> {
  const { headers, body } = await fetchBytes(ports, host, asked);
  const distance = (level: number) => {
    const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: level } };
    const same =
      headers['content-encoding'] === 'br'
        ? brotliCompressSync(bodyOf(LENGTH), quality)
        : gzipSync(bodyOf(LENGTH), { level });
    return Math.abs(same.length - body.length);
  };
  return levels.toSorted((a, b) => distance(a) - distance(b))[0];
}

function decoded(encoding: string | undefined, body: Buffer): Buffer {
  if (body.length === 0) return body;
  if (encoding === 'gzip') return gunzipSync(body);
  return encoding === 'br' ? brotliDecompressSync(body) : body;
}

interface Fetched {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

function fetchBytes(
  { httpPort }: Ports,
  host: string,
  { accept, method = 'GET', agent, ...wanted }: Asked,
): Promise<Fetched> {
  const { promise, resolve, reject } = Promise.withResolvers<Fetched>();
  const headers = {
    host,
    ...(accept !== undefined && { 'accept-encoding': accept }),
    ...(agent !== undefined && { 'user-agent': agent }),
  };
  const path = `/?wanted=${encodeURIComponent(JSON.stringify(wanted))}`;
  const outgoing = httpRequest(
    { host: '127.0.0.1', port: httpPort, path, method, headers, agent: false },
    (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    },
  );
  outgoing.on('error', reject);
  outgoing.end();
  return promise;
}
