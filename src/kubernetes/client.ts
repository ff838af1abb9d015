/** Requests to the API server, and watches. Knows HTTP and JSON, not the objects. */
import http from 'node:http';
import https from 'node:https';
import { StringDecoder } from 'node:string_decoder';
import { type Access, type ConnectionOptions, createCredentials } from './credentials.ts';
import { KubernetesStatusError, KubernetesUnreachable } from './errors.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestOptions {
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Of the body; default `application/json`. */
  readonly contentType?: string;
  /** Until the whole answer is there, in milliseconds; default 10,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface WatchOptions {
  readonly query: Query;
  /** Ends the watch without an error. */
  readonly signal: AbortSignal;
  /** How long the server may be silent, in milliseconds. */
  readonly idleMs: number;
  /** The server has accepted the watch. */
  onOpen?(): void;
}

export interface KubernetesResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed when it is JSON, else text. */
  readonly body: unknown;
}

export interface KubernetesClient {
  /**
   * One request. Resolves for every HTTP status. With 401 the credentials are read again and the request is repeated once.
   * @throws KubernetesUnreachable when no whole answer came within `timeoutMs`, or `signal` was aborted.
   */
  request(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    options?: RequestOptions,
  ): Promise<KubernetesResponse>;
  /**
   * Yields each JSON document of a watch; ends when the server ends it or `signal` is aborted.
   * @throws KubernetesStatusError when the server refuses; KubernetesUnreachable when there is no answer, the stream breaks off
   *   or is silent for `idleMs`.
   */
  watch(path: string, options: WatchOptions): AsyncIterable<unknown>;
}

export interface KubernetesClientOptions extends ConnectionOptions {
  readonly userAgent: string;
}

const REQUEST_TIMEOUT_MS = 10_000;
/** Until a watch is accepted, which a server that is well does at once. */
const OPEN_TIMEOUT_MS = 15_000;
/** For the body of a refused watch. */
const REFUSAL_TIMEOUT_MS = 5_000;

/** @throws KubernetesConfigError when flags, files and environment do not name a cluster. */
export function createKubernetesClient(options: KubernetesClientOptions): KubernetesClient {
  const credentials = createCredentials(options);

  /** Repeats what was answered with 401 once, with credentials that were read anew. */
  async function withAccess<R>(attempt: (access: Access) => Promise<R>, isRefused: (result: R) => boolean): Promise<R> {
    const access = await credentials.access();
    const result = await attempt(access).catch((error: unknown) => {
      if (isTlsFault(error)) credentials.refuse(access);
      throw error;
    });
    if (!isRefused(result)) return result;
    credentials.refuse(access);
    return await attempt(await credentials.access());
  }

  async function request(
    method: string,
    path: string,
    { query, body, contentType, timeoutMs = REQUEST_TIMEOUT_MS, signal }: RequestOptions = {},
  ): Promise<KubernetesResponse> {
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const headers = {
      'User-Agent': options.userAgent,
      Accept: 'application/json',
      ...(payload !== undefined && {
        'Content-Type': contentType ?? 'application/json',
        'Content-Length': String(payload.length),
      }),
    };
    return await withAccess(
      async (access) => {
        const deadline = createDeadline(timeoutMs, `no answer within ${timeoutMs} ms`, signal);
        try {
          const outgoing = { method, path, query, headers, payload };
          return await readWhole(await open(access, 'requests', outgoing, deadline.signal), deadline.signal);
        } finally {
          deadline.clear();
        }
      },
      ({ status }) => status === 401,
    );
  }

  async function* watch(path: string, { query, signal, idleMs, onOpen }: WatchOptions): AsyncGenerator<unknown> {
    const headers = { 'User-Agent': options.userAgent, Accept: 'application/json' };
    const openMs = Math.min(idleMs, OPEN_TIMEOUT_MS);
    const deadline = createDeadline(openMs, `no answer within ${openMs} ms`, signal);
    try {
      const response = await withAccess(
        async (access) => await open(access, 'watches', { method: 'GET', path, query, headers }, deadline.signal),
        (refused) => {
          if (refused.statusCode === 401) refused.resume();
          return refused.statusCode === 401;
        },
      );
      if (response.statusCode !== 200) throw await refusal(response, deadline);
      deadline.change(idleMs, `silent for ${idleMs} ms`);
      onOpen?.();
      yield* readDocuments(response, deadline);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      deadline.clear();
    }
  }

  return { request, watch };
}

interface Outgoing {
  readonly method: string;
  readonly path: string;
  readonly query: Query | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload?: Buffer | undefined;
}

/** An idle connection that the other side had closed. */
class StaleConnection extends KubernetesUnreachable {}

/** Resolves when the head of the answer is there. Until the body has been read `signal` ends it. */
async function open(
  access: Access,
  use: 'requests' | 'watches',
  outgoing: Outgoing,
  signal: AbortSignal,
): Promise<http.IncomingMessage> {
  try {
    return await send(access, use, outgoing, signal);
  } catch (error) {
    // The server closed the connection at the moment it was used again: what only reads may be repeated.
    if (outgoing.method === 'GET' && error instanceof StaleConnection) return await send(access, use, outgoing, signal);
    throw error;
  }
}

function send(
  { server, headers, agents }: Access,
  use: 'requests' | 'watches',
  { method, path, query, headers: own, payload }: Outgoing,
  signal: AbortSignal,
): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const target = new URL(server);
    target.pathname = `${server.pathname.replace(/\/$/, '')}${path}`;
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined) target.searchParams.set(name, String(value));
    }
    const library = target.protocol === 'http:' ? http : https;
    const outgoing = library.request(target, {
      method,
      headers: { ...own, ...headers },
      agent: agents[use],
      signal,
    });
    outgoing.once('response', resolve);
    outgoing.once('error', (error: NodeJS.ErrnoException) => {
      const stale = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      reject(unreachable(error, server, signal, stale ? StaleConnection : KubernetesUnreachable));
    });
    outgoing.end(payload);
  });
}

async function readWhole(response: http.IncomingMessage, signal: AbortSignal): Promise<KubernetesResponse> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    throw unreachable(error, undefined, signal);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const headers = Object.fromEntries(
    Object.entries(response.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : `${value}`,
    ]),
  );
  const isJson = /^application\/([\w.-]+\+)?json\b/.test(headers['content-type'] ?? '');
  return { status: response.statusCode ?? 0, headers, body: isJson ? parse(text) : text };
}

async function refusal(response: http.IncomingMessage, deadline: Deadline): Promise<KubernetesStatusError> {
  deadline.change(REFUSAL_TIMEOUT_MS, 'the answer is not whole');
  try {
    const { status, headers, body } = await readWhole(response, deadline.signal);
    return new KubernetesStatusError(status, body, headers);
  } catch {
    // The status says enough.
    return new KubernetesStatusError(response.statusCode ?? 0, undefined);
  }
}

/** One document per line. */
async function* readDocuments(response: http.IncomingMessage, deadline: Deadline): AsyncGenerator<unknown> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  try {
    for await (const chunk of response) {
      deadline.restart();
      const lines = (rest + decoder.write(chunk as Buffer)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line.trim() === '') continue;
        yield parse(line);
        // What the reader does meanwhile is not the server's silence.
        deadline.restart();
      }
    }
  } catch (error) {
    throw error instanceof KubernetesUnreachable ? error : unreachable(error, undefined, deadline.signal);
  } finally {
    response.destroy();
  }
  if (rest.trim() !== '') throw new KubernetesUnreachable('The API server ended a watch in the middle of an event');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Without the text: it may be part of a Secret.
    throw new KubernetesUnreachable(`The API server sent ${text.length} characters that are not JSON`);
  }
}

interface Deadline {
  readonly signal: AbortSignal;
  /** The time begins anew. */
  restart(): void;
  /** The time begins anew, with another length and reason. */
  change(delayMs: number, reason: string): void;
  clear(): void;
}

/** Aborts its signal after `delayMs` with `reason`, or together with `parent`. */
function createDeadline(delayMs: number, reason: string, parent: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const expire = (why: string) => controller.abort(new KubernetesUnreachable(`The API server: ${why}`));
  const follow = () => controller.abort(new KubernetesUnreachable('The request was given up'));
  let timer = setTimeout(expire, delayMs, reason);
  if (parent?.aborted === true) follow();
  parent?.addEventListener('abort', follow);
  return {
    signal: controller.signal,
    restart: () => void timer.refresh(),
    change(otherMs, otherReason) {
      clearTimeout(timer);
      timer = setTimeout(expire, otherMs, otherReason);
    },
    clear() {
      clearTimeout(timer);
      parent?.removeEventListener('abort', follow);
    },
  };
}

function unreachable(
  error: unknown,
  server: URL | undefined,
  signal: AbortSignal,
  Kind: typeof KubernetesUnreachable = KubernetesUnreachable,
): KubernetesUnreachable {
  if (signal.aborted && signal.reason instanceof KubernetesUnreachable) return signal.reason;
  const { message, code } = error as NodeJS.ErrnoException;
  // When every address of a name fails the message is empty.
  const what = message === '' || message === undefined ? (code ?? 'no connection') : message;
  const where = server === undefined ? 'The API server' : `The API server ${server.host}`;
  return new Kind(`${where} is not reachable: ${what}`, { cause: error });
}

function isTlsFault(error: unknown): boolean {
  const code = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined)?.code : undefined;
  return code !== undefined && /^(ERR_SSL|ERR_TLS|CERT_|DEPTH_|UNABLE_TO_|SELF_SIGNED)/.test(code);
}
