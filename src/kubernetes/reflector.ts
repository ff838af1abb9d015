/** The list/watch loop of one kind: tells its sink everything once, then every change, whatever the API server does meanwhile. */
import { Backoff } from './backoff.ts';
import type { KubernetesClient, Query } from './client.ts';
import type { Clock } from './clock.ts';
import { type ListPage, readPage, readVersion } from './documents.ts';
import { KubernetesStatusError, KubernetesUnreachable } from './errors.ts';
import { asMap } from './json.ts';
import { compareVersions } from './version.ts';

/** Called synchronously, never two at a time. */
export interface ReflectorSink {
  /** A list begins; what came of a former one that did not end is void. */
  begin(): void;
  page(items: readonly unknown[]): void;
  /** What was in no page since `begin` does not exist any more. `version` is that of the whole list. */
  end(version: string): void;
  event(type: 'upsert' | 'delete', object: unknown, version: string): void;
}

export type ReflectorEvent =
  /** The first page was asked for. */
  | { readonly type: 'list-started' }
  | { readonly type: 'listed'; readonly pages: number }
  | { readonly type: 'watch-started' }
  | { readonly type: 'watch-ended' }
  /** Something failed and is tried again after `delayMs`. `status` is absent when there was no answer. */
  | { readonly type: 'failed'; readonly message: string; readonly status?: number; readonly delayMs: number };

/** Why a kind is not followed at present. */
export interface Fault {
  /** HTTP status of the refusal; absent when there was no answer. */
  readonly status?: number;
  readonly message: string;
}

export interface ReflectorOptions {
  readonly client: KubernetesClient;
  readonly path: string;
  /** Of the objects in a list, which do not say it themselves. */
  readonly kind: string;
  readonly apiVersion: string;
  /** Selectors. */
  readonly query: Query;
  readonly sink: ReflectorSink;
  readonly clock: Clock;
  /** After how many milliseconds without a byte a watch counts as broken. */
  readonly idleMs: number;
  /** How long the answer with one page may take, in milliseconds. */
  readonly timeoutMs: number;
  observe(event: ReflectorEvent): void;
  /** Refused, or without an answer several times in a row; `undefined` when that is over. */
  onFault(fault: Fault | undefined): void;
}

/** Most objects in one answer. */
const PAGE_SIZE = 500;
/** Short, since what changes while the API server is away should be seen within seconds of its return. */
const RECONNECT = { baseMs: 200, capMs: 3_000 };
/** What is refused stays so until somebody changes a Role. */
const REFUSED = { baseMs: 2_000, capMs: 15_000 };
/** The longest that a server may ask for by `Retry-After`, in milliseconds. */
const LONGEST_RETRY_AFTER_MS = 60_000;
/** A watch that was open for less is one of those that end at once, in milliseconds. */
const SHORT_WATCH_MS = 1_000;
/** So many answers in a row that refuse a watch: the version to resume from may be what is wrong. */
const REFUSALS_UNTIL_LIST = 3;
/** So many failures in a row without an answer are worth telling. */
const FAILURES_UNTIL_FAULT = 3;
const REFUSED_STATUSES = new Set([400, 401, 403, 404, 405, 422]);

/** What the stream says contradicts what it said before: it cannot be resumed. */
class StreamInconsistent extends Error {}

/** The server ended a watch that had hardly begun. */
class WatchEndedAtOnce extends KubernetesUnreachable {}

export class Reflector {
  private readonly options: ReflectorOptions;
  private readonly reconnect: Backoff;
  private readonly refused: Backoff;
  private readonly abort = new AbortController();
  private running: Promise<void> | undefined;
  /** Up to which everything was told; absent when a list is needed. */
  private version: string | undefined;
  /** Failures in a row, and those of them that were answers to a watch. */
  private failures = 0;
  private watchRefusals = 0;
  private hasFault = false;
  /** Ends the present pause. */
  private wake: (() => void) | undefined;

  constructor(options: ReflectorOptions) {
    const { random } = options.clock;
    this.options = options;
    this.reconnect = new Backoff({ ...RECONNECT, random });
    this.refused = new Backoff({ ...REFUSED, random });
  }

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.abort.abort();
    this.wake?.();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.abort.signal.aborted) {
      try {
        await (this.version === undefined ? this.list() : this.watch(this.version));
      } catch (error) {
        if (!this.abort.signal.aborted) await this.recover(error);
      }
    }
  }

  /** In pages, each read when the one before has been taken over, so that not all of a large kind is in memory as text. */
  private async list(): Promise<void> {
    const { sink, observe } = this.options;
    observe({ type: 'list-started' });
    sink.begin();
    let page = await this.readPage(undefined);
    const { version } = page;
    let pages = 1;
    for (; page.next !== undefined; pages += 1) {
      sink.page(page.items);
      const { next } = page;
      page = await this.readPage(next);
      if (page.next === next)
        throw new KubernetesUnreachable('The API server answers with the same page again and again');
    }
    sink.page(page.items);
    if (this.abort.signal.aborted) return;
    sink.end(version);
    this.version = version;
    this.watchRefusals = 0;
    this.succeed();
    observe({ type: 'listed', pages });
  }

  /**
   * Without a resourceVersion the answer is as new as the storage. From a cache it could be older than what is known, and the
   * state would go back in time.
   */
  private async readPage(next: string | undefined): Promise<ListPage> {
    const { client, path, query, kind, apiVersion, timeoutMs } = this.options;
    const response = await client.request('GET', path, {
      query: { ...query, limit: PAGE_SIZE, continue: next },
      timeoutMs,
      signal: this.abort.signal,
    });
    if (response.status !== 200) throw new KubernetesStatusError(response.status, response.body, response.headers);
    return readPage(response.body, kind, apiVersion);
  }

  private async watch(from: string): Promise<void> {
    const { client, path, query, clock, idleMs, observe } = this.options;
    let openedAt: number | undefined;
    try {
      const documents = client.watch(path, {
        query: {
          ...query,
          watch: true,
          allowWatchBookmarks: true,
          resourceVersion: from,
          // Spread, so that not all watches of all clients begin anew at the same time.
          timeoutSeconds: 300 + Math.floor(clock.random() * 301),
        },
        signal: this.abort.signal,
        idleMs,
        onOpen: () => {
          openedAt = clock.now();
          this.succeed();
          observe({ type: 'watch-started' });
        },
      });
      for await (const document of documents) this.accept(document);
    } finally {
      if (openedAt !== undefined) observe({ type: 'watch-ended' });
      if (openedAt !== undefined && clock.now() - openedAt >= SHORT_WATCH_MS) this.relax();
    }
    if (this.abort.signal.aborted || openedAt === undefined || clock.now() - openedAt >= SHORT_WATCH_MS) return;
    // As long as it brings news it only must not spin.
    if (this.version !== from) this.reconnect.reset();
    throw new WatchEndedAtOnce('The API server ends the watch at once');
  }

  private accept(document: unknown): void {
    const { type, object } = asMap(document);
    if (type === 'ERROR') throw new KubernetesStatusError(Number(asMap(object)['code'] ?? 500), object);
    const version = readVersion(object);
    if (version === undefined || typeof type !== 'string') {
      throw new KubernetesUnreachable('The API server sent an event without type or resourceVersion');
    }
    const order = compareVersions(version, this.version ?? '');
    // Each event is newer than the one before. An older one means that the storage was set back, or that order got lost.
    if (order < 0) throw new StreamInconsistent(`Version ${version} came after ${this.version}`);
    if (order === 0) return;
    if (type === 'ADDED' || type === 'MODIFIED') this.options.sink.event('upsert', object, version);
    else if (type === 'DELETED') this.options.sink.event('delete', object, version);
    this.version = version;
    this.watchRefusals = 0;
  }

  /** Decides from where to go on, and waits. */
  private async recover(error: unknown): Promise<void> {
    const isInconsistent = error instanceof StreamInconsistent;
    // A bug, which nobody may overlook.
    if (!isInconsistent && !(error instanceof KubernetesStatusError) && !(error instanceof KubernetesUnreachable))
      throw error;
    const status = error instanceof KubernetesStatusError ? error.status : undefined;
    const isRefused = status !== undefined && REFUSED_STATUSES.has(status);
    if (status === 410 || isInconsistent) this.version = undefined;
    else if (status !== undefined && status !== 429 && status !== 403 && this.version !== undefined) {
      this.watchRefusals += 1;
      if (this.watchRefusals >= REFUSALS_UNTIL_LIST) this.version = undefined;
    }
    const retryAfterMs = error instanceof KubernetesStatusError ? (error.retryAfterMs ?? 0) : 0;
    const delayMs = Math.max(
      isRefused ? this.refused.next() : this.reconnect.next(),
      Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS),
    );
    this.failures += 1;
    const fault = { message: error.message, ...(status !== undefined && { status }) };
    if (isRefused || (this.failures >= FAILURES_UNTIL_FAULT && !(error instanceof WatchEndedAtOnce))) {
      this.hasFault = true;
      this.options.onFault(fault);
    }
    this.options.observe({ type: 'failed', ...fault, delayMs });
    await this.pause(delayMs);
  }

  private succeed(): void {
    this.failures = 0;
    if (!this.hasFault) return;
    this.hasFault = false;
    this.options.onFault(undefined);
  }

  private relax(): void {
    this.reconnect.reset();
    this.refused.reset();
  }

  private pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        this.wake = undefined;
        resolve();
      };
      const cancel = this.options.clock.after(delayMs, done);
      this.wake = done;
    });
  }
}
