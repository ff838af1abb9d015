/**
 * What the tests of this folder are written with: an API server in this process that keeps objects and their history, answers
 * lists and watches, and misbehaves when told to; and a clock that runs faster than time.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { objectKey } from '../model/object-ref.ts';
import { createKubernetesClient, type KubernetesClient } from './client.ts';
import { type Clock, systemClock } from './clock.ts';
import { describeKind, type WatchedKind } from './kinds.ts';

/** An object as the API server has it. */
export interface RawObject {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

export interface FakeRequest {
  readonly verb: 'list' | 'watch' | 'other';
  readonly method: string;
  /** Absent for paths that are no collection of a kind. */
  readonly kind: WatchedKind | undefined;
  readonly namespace: string | undefined;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

/** What is done instead of the right thing. */
export type Misbehaviour =
  | {
      readonly status: number;
      readonly reason?: string;
      readonly message?: string;
      readonly headers?: Record<string, string>;
    }
  /** Any bytes, with status 200, as JSON. */
  | { readonly raw: string }
  /** Half of the answer, then the connection breaks. */
  | 'truncate'
  | 'reset'
  | 'hang';

interface HistoryEntry {
  readonly version: number;
  readonly kind: WatchedKind;
  readonly before: RawObject | undefined;
  readonly now: RawObject | undefined;
}

interface OpenWatch {
  readonly request: FakeRequest;
  readonly response: http.ServerResponse;
}

const KINDS: readonly WatchedKind[] = [
  'Ingress',
  'IngressClass',
  'Service',
  'EndpointSlice',
  'Secret',
  'ConfigMap',
  'Namespace',
];

export class FakeApiServer {
  readonly requests: FakeRequest[] = [];
  readonly watches = new Set<OpenWatch>();
  /** Asked for each request; what it returns is done instead. */
  misbehave: (request: FakeRequest) => Misbehaviour | undefined = () => undefined;
  /** Whether a version that is too old is told as HTTP status instead of inside the stream. */
  tellGoneByStatus = false;
  /** Answers to what is neither list nor watch. */
  answer: (request: FakeRequest) => { readonly status: number; readonly body: unknown } = () => ({
    status: 404,
    body: {},
  });

  private readonly objects = new Map<string, { readonly kind: WatchedKind; readonly object: RawObject }>();
  private readonly history: HistoryEntry[] = [];
  private readonly pages = new Map<string, { readonly version: number; readonly rest: readonly RawObject[] }>();
  private readonly server = http.createServer((incoming, response) => void this.handle(incoming, response));
  private version = 1000;
  private compacted = 0;
  private tokens = 0;

  async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(port, '127.0.0.1', resolve));
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  client(): KubernetesClient {
    return createKubernetesClient({ apiserverHost: this.url, userAgent: 'test' });
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Creates or replaces; returns the resourceVersion. */
  put(kind: WatchedKind, object: RawObject): string {
    this.version += 1;
    const key = `${kind} ${object.metadata.namespace ?? ''}/${object.metadata.name}`;
    const before = this.objects.get(key)?.object;
    const now = { ...object, metadata: { ...object.metadata, resourceVersion: `${this.version}` } };
    this.objects.set(key, { kind, object: now });
    this.record({ version: this.version, kind, before, now });
    return `${this.version}`;
  }

  remove(kind: WatchedKind, namespace: string, name: string): void {
    const key = `${kind} ${namespace}/${name}`;
    const before = this.objects.get(key)?.object;
    if (before === undefined) return;
    this.version += 1;
    this.objects.delete(key);
    this.record({ version: this.version, kind, before, now: undefined });
  }

  /** All objects as `Kind namespace/name`, each with its resourceVersion. */
  present(): [key: string, version: string][] {
    return [...this.objects.values()].map(({ kind, object: { metadata } }) => [
      `${kind} ${objectKey({ namespace: metadata.namespace ?? '', name: metadata.name })}`,
      String(metadata['resourceVersion']),
    ]);
  }

  /** Nobody can resume from, or page on in, what is older than now. */
  compact(): void {
    this.compacted = this.version;
    this.pages.clear();
  }

  /** Ends the watches of a kind (all kinds) as a server does, or by breaking the connection. */
  cut(how: 'end' | 'reset', kind?: WatchedKind): void {
    for (const watch of [...this.watches]) {
      const { request, response } = watch;
      if (kind !== undefined && request.kind !== kind) continue;
      this.watches.delete(watch);
      if (how === 'end') response.end();
      else response.destroy();
    }
  }

  /** Into all watches of a kind, whatever it says. */
  send(kind: WatchedKind, document: unknown): void {
    for (const { request, response } of this.watches) {
      if (request.kind === kind) response.write(`${JSON.stringify(document)}\n`);
    }
  }

  bookmark(): void {
    for (const { request, response } of this.watches) {
      const metadata = { resourceVersion: `${this.version}` };
      response.write(`${JSON.stringify({ type: 'BOOKMARK', object: { kind: request.kind, metadata } })}\n`);
    }
  }

  count(verb: FakeRequest['verb'], kind: WatchedKind): number {
    return this.requests.filter((request) => request.verb === verb && request.kind === kind && isFirstPage(request))
      .length;
  }

  private record(entry: HistoryEntry): void {
    this.history.push(entry);
    for (const watch of this.watches) tell(watch, entry);
  }

  private async handle(incoming: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of incoming) body += String(chunk);
    const request = readRequest(incoming, body);
    this.requests.push(request);
    const misbehaviour = this.misbehave(request);
    if (misbehaviour === 'hang') return;
    if (misbehaviour === 'reset') response.destroy();
    else if (misbehaviour === 'truncate') {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.write('{"kind":"IngressList","metadata":{"resourceVersion":"1"},"items":[', () => response.destroy());
    } else if (misbehaviour !== undefined && 'raw' in misbehaviour) {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(misbehaviour.raw);
    } else if (misbehaviour !== undefined) {
      const { status, reason, message = 'as the test wants it', headers } = misbehaviour;
      sendStatus(response, status, reason, message, headers);
    } else if (request.verb === 'list') this.list(request, response);
    else if (request.verb === 'watch') this.watch(request, response);
    else {
      const { status, body: answer } = this.answer(request);
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
    }
  }

  private list(request: FakeRequest, response: http.ServerResponse): void {
    const { limit, continue: token } = request.query;
    const page = token === undefined ? { version: this.version, rest: this.select(request) } : this.pages.get(token);
    if (page === undefined) {
      sendStatus(response, 410, 'Expired', 'The provided continue parameter is too old');
      return;
    }
    const size = limit === undefined ? page.rest.length : Number(limit);
    const rest = page.rest.slice(size);
    this.tokens += 1;
    const next = rest.length > 0 ? `token-${this.tokens}` : undefined;
    if (next !== undefined) this.pages.set(next, { version: page.version, rest });
    const list = {
      kind: `${request.kind}List`,
      apiVersion: describeKind(request.kind ?? 'Ingress').apiVersion,
      metadata: { resourceVersion: `${page.version}`, ...(next !== undefined && { continue: next }) },
      items: page.rest.slice(0, size),
    };
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(list));
  }

  private watch(request: FakeRequest, response: http.ServerResponse): void {
    const from = Number(request.query['resourceVersion'] ?? 0);
    const isGone = from < this.compacted;
    if (isGone && this.tellGoneByStatus) {
      sendStatus(response, 410, 'Expired', 'too old resource version');
      return;
    }
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.flushHeaders();
    if (isGone) {
      const object = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
      response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
      return;
    }
    const watch = { request, response };
    this.watches.add(watch);
    response.once('close', () => this.watches.delete(watch));
    for (const entry of this.history) if (entry.version > from) tell(watch, entry);
  }

  private select(request: FakeRequest): readonly RawObject[] {
    return [...this.objects.values()]
      .filter(({ kind, object }) => kind === request.kind && isSelected(object, request))
      .map(({ object }) => object);
  }
}

/** A clock on which `factor` seconds pass in one. */
export function createFastClock(factor: number, random: () => number = Math.random): Clock {
  return {
    now: () => systemClock.now() * factor,
    date: () => new Date(),
    after: (delayMs, callback) => systemClock.after(delayMs / factor, callback),
    random,
  };
}

function isFirstPage({ query }: FakeRequest): boolean {
  return query['continue'] === undefined && !(query['fieldSelector'] ?? '').startsWith('metadata.name=');
}

function readRequest(incoming: http.IncomingMessage, body: string): FakeRequest {
  const url = new URL(incoming.url ?? '', 'http://server');
  const query = Object.fromEntries(url.searchParams);
  const found = /^\/apis?\/((?:[\w.-]+\/)?v1)(?:\/namespaces\/([^/]+))?\/(\w+)$/.exec(url.pathname);
  const kind = KINDS.find((one) => {
    const { apiVersion, resource } = describeKind(one);
    return apiVersion === found?.[1] && resource === found?.[3];
  });
  const verb = kind === undefined || incoming.method !== 'GET' ? 'other' : query['watch'] === 'true' ? 'watch' : 'list';
  const { method = '', headers } = incoming;
  return { verb, method, kind, namespace: found?.[2], path: url.pathname, query, headers, body };
}

function isSelected(object: RawObject | undefined, { namespace, query }: FakeRequest): boolean {
  if (object === undefined || (namespace !== undefined && object.metadata.namespace !== namespace)) return false;
  const [, label, value] = /^(.+)=(.+)$/.exec(query['labelSelector'] ?? '') ?? [];
  const labels = (object.metadata['labels'] ?? {}) as Record<string, string>;
  if (label !== undefined && labels[label] !== value) return false;
  const [, field, operator, wanted] = /^(.+?)(!?=)(.+)$/.exec(query['fieldSelector'] ?? '') ?? [];
  if (field === undefined) return true;
  const actual = field === 'metadata.name' ? object.metadata.name : object[field];
  return (operator === '=') === (actual === wanted);
}

/** One event as this watch sees it: what leaves its selection is deleted for it. */
function tell({ request, response }: OpenWatch, { version, kind, before, now }: HistoryEntry): void {
  if (kind !== request.kind) return;
  const [was, is] = [isSelected(before, request), isSelected(now, request)];
  if (!was && !is) return;
  const object = { apiVersion: describeKind(kind).apiVersion, kind, ...(is ? now : before) } as RawObject;
  const metadata = { ...object.metadata, resourceVersion: `${version}` };
  const type = is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED';
  response.write(`${JSON.stringify({ type, object: { ...object, metadata } })}\n`);
}

function sendStatus(
  response: http.ServerResponse,
  code: number,
  reason: string | undefined,
  message: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(code, { 'Content-Type': 'application/json', ...headers });
  response.end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }));
}
