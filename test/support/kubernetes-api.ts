/** A Kubernetes API in memory, with versions and conflicts, and a clock by hand: nothing happens in real time. */
import { setImmediate } from 'node:timers/promises';
import type {
  KubernetesClient,
  KubernetesResponse,
  RequestOptions,
  WatchOptions,
} from '../../src/kubernetes/client.ts';
import type { Clock } from '../../src/kubernetes/clock.ts';
import { KubernetesUnreachable } from '../../src/kubernetes/errors.ts';

export class ManualClock implements Clock {
  private time = 0;
  private timers: { readonly at: number; readonly callback: () => void }[] = [];
  /** What `random` gives. */
  luck = 0;

  now(): number {
    return this.time;
  }

  date(): Date {
    return new Date(Date.UTC(2026, 0, 1) + this.time);
  }

  random(): number {
    return this.luck;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.time + delayMs, callback };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((one) => one !== timer);
    };
  }

  /** Everything that is due until then happens, in order, each with all that follows from it. */
  async advance(ms: number): Promise<void> {
    const end = this.time + ms;
    await settle();
    for (;;) {
      const next = this.timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.timers = this.timers.filter((one) => one !== next);
      this.time = Math.max(this.time, next.at);
      next.callback();
      await settle();
    }
    this.time = end;
  }
}

/** Lets everything happen that needs no time to pass. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate();
}

type Json = Record<string, unknown>;
interface Stored extends Json {
  metadata: Json & { name: string; resourceVersion: string };
}

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/** What happens to a request instead: an answer, silence until it is given up, or a broken connection after it took effect. */
export type Fault = Partial<KubernetesResponse> | 'hang' | 'reset' | 'lost-answer' | undefined;

export class FakeApi implements Pick<KubernetesClient, 'request' | 'watch'> {
  /** Every request that arrived. */
  readonly requests: ApiRequest[] = [];
  /** Asked for each request. */
  fault: (request: ApiRequest) => Fault = () => undefined;
  /** While set, requests wait for it before anything is done. */
  gate: Promise<void> | undefined;
  inFlight = 0;
  maxInFlight = 0;
  private readonly clock: Clock;
  private readonly objects = new Map<string, Stored>();
  private readonly watchers = new Set<{ readonly path: string; readonly wake: (event: unknown) => void }>();
  private version = 100;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Creates or replaces an object, whatever its version. */
  put(path: string, object: Json & { metadata?: Json }): void {
    const name = path.slice(path.lastIndexOf('/') + 1);
    this.store(path, { ...object, metadata: { name, ...object.metadata } } as unknown as Stored);
  }

  remove(path: string): void {
    this.objects.delete(path);
  }

  get(path: string): Json | undefined {
    return this.objects.get(path);
  }

  /** Objects below a collection. */
  list(collection: string): Json[] {
    return [...this.objects].filter(([path]) => isBelow(path, collection)).map(([, object]) => object);
  }

  /** `PUT /a/b`, in the order in which they arrived; `pattern` selects. */
  calls(pattern = /./): string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`).filter((call) => pattern.test(call));
  }

  request(method: string, path: string, options: RequestOptions = {}): Promise<KubernetesResponse> {
    return this.handle(method, path, options, this.fault);
  }

  /** A client with faults of its own. */
  client(fault: (request: ApiRequest) => Fault): Pick<KubernetesClient, 'request'> {
    return { request: (method, path, options = {}) => this.handle(method, path, options, fault) };
  }

  private async handle(
    method: string,
    path: string,
    options: RequestOptions,
    faultOf: (request: ApiRequest) => Fault,
  ): Promise<KubernetesResponse> {
    const { body, timeoutMs = 10_000, signal, query } = options;
    const request = { method, path, body: structuredClone(body) };
    this.requests.push(request);
    this.maxInFlight = Math.max(this.maxInFlight, ++this.inFlight);
    try {
      if (this.gate !== undefined) await this.gate;
      await Promise.resolve();
      const fault = faultOf(request);
      if (fault === 'hang') return await this.silence(timeoutMs, signal);
      if (fault === 'reset') throw new KubernetesUnreachable('The connection was reset');
      if (fault === 'lost-answer') {
        this.perform(method, path, request.body as Stored, query);
        throw new KubernetesUnreachable('The connection was reset');
      }
      if (signal?.aborted === true) throw new KubernetesUnreachable('The request was given up');
      if (fault !== undefined) return { status: 500, headers: {}, body: {}, ...fault };
      return structuredClone(this.perform(method, path, request.body as Stored, query));
    } finally {
      this.inFlight--;
    }
  }

  async *watch(path: string, { signal }: WatchOptions): AsyncGenerator<unknown> {
    const events: unknown[] = this.list(path).map((object) => ({ type: 'ADDED', object }));
    let wake = () => {};
    const watcher = {
      path,
      wake: (event: unknown) => {
        events.push(event);
        wake();
      },
    };
    this.watchers.add(watcher);
    signal.addEventListener('abort', () => wake());
    try {
      while (!signal.aborted) {
        const event = events.shift();
        if (event !== undefined) yield event;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      this.watchers.delete(watcher);
    }
  }

  private perform(method: string, path: string, body: Stored, query: RequestOptions['query']): KubernetesResponse {
    const target = path.replace(/\/status$/, '');
    const present = this.objects.get(target);
    if (method === 'GET') {
      if (present !== undefined) return answer(200, present);
      if (!isCollection(target)) return answer(404, { reason: 'NotFound', message: `${target} not found` });
      const wanted = String(query?.['labelSelector'] ?? '')
        .split(',')
        .filter((term) => term !== '');
      const items = this.list(target).filter((item) => wanted.every((term) => hasLabel(item, term)));
      return answer(200, { items });
    }
    if (method === 'POST') {
      const created = `${target}/${body.metadata.name}`;
      if (this.objects.has(created)) return answer(409, { reason: 'AlreadyExists' });
      return answer(201, this.store(created, body));
    }
    if (present === undefined) return answer(404, { reason: 'NotFound' });
    if (method === 'PATCH') return answer(200, this.store(target, { ...present, ...body, metadata: present.metadata }));
    if (body.metadata.resourceVersion !== present.metadata.resourceVersion) return answer(409, { reason: 'Conflict' });
    const next = path.endsWith('/status') ? { ...present, status: body['status'] } : body;
    return answer(200, this.store(target, next));
  }

  private store(path: string, object: Stored): Stored {
    const metadata = { ...object.metadata, resourceVersion: String(++this.version) };
    const stored = { ...object, metadata };
    this.objects.set(path, stored);
    for (const watcher of this.watchers) {
      if (isBelow(path, watcher.path)) watcher.wake({ type: 'MODIFIED', object: stored });
    }
    return stored;
  }

  private silence(timeoutMs: number, signal: AbortSignal | undefined): Promise<never> {
    return new Promise((_, reject) => {
      const end = () => reject(new KubernetesUnreachable('No answer'));
      const cancel = this.clock.after(timeoutMs, end);
      signal?.addEventListener('abort', () => {
        cancel();
        end();
      });
    });
  }
}

function answer(status: number, body: unknown): KubernetesResponse {
  return { status, headers: {}, body };
}

function isBelow(path: string, collection: string): boolean {
  return path.startsWith(`${collection}/`) && !path.slice(collection.length + 1).includes('/');
}

/** Plural words end paths of collections; enough for what is asked here. */
function isCollection(path: string): boolean {
  return /\/(pods|nodes|services|ingresses|events|leases)$/.test(path);
}

function hasLabel(item: Json, term: string): boolean {
  const [name = '', value] = term.split('=');
  return ((item['metadata'] as Json)['labels'] as Json | undefined)?.[name] === value;
}
