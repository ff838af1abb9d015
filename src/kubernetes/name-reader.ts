/**
 * Reads single Secrets and ConfigMaps whose bytes were not kept, by a list with the name as selector: the roles that are in use
 * allow list and watch, not get.
 */
import { describeRef, type ObjectRef } from '../model/object-ref.ts';
import { Backoff } from './backoff.ts';
import type { KubernetesClient } from './client.ts';
import type { Clock } from './clock.ts';
import { readPage } from './documents.ts';
import { KubernetesStatusError, KubernetesUnreachable } from './errors.ts';
import { collectionPath, describeKind, type WatchedKind } from './kinds.ts';

export interface NameReaderOptions {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  /** How long an answer may take, in milliseconds. */
  readonly timeoutMs: number;
  /** The object, or `undefined` when there is none, at the version of the answer. */
  onRead(ref: ObjectRef, raw: unknown, version: string): void;
  /** It is asked for. */
  observe(ref: ObjectRef): void;
}

/** So many at a time: a release may bring many new names at once. */
const CONCURRENCY = 8;

interface Reading {
  readonly ref: ObjectRef;
  readonly backoff: Backoff;
}

export class NameReader {
  private readonly options: NameReaderOptions;
  private readonly readings = new Map<string, Reading>();
  private readonly queue: Reading[] = [];
  private readonly pauses = new Set<() => void>();
  private readonly abort = new AbortController();
  private active = 0;

  constructor(options: NameReaderOptions) {
    this.options = options;
  }

  /** Until it is read or cancelled, whatever the API server answers meanwhile. */
  read(ref: ObjectRef): void {
    const key = describeRef(ref);
    if (this.readings.has(key) || this.abort.signal.aborted) return;
    const { random } = this.options.clock;
    const reading = { ref, backoff: new Backoff({ baseMs: 200, capMs: 5_000, random }) };
    this.readings.set(key, reading);
    this.enqueue(reading);
  }

  isReading(ref: ObjectRef): boolean {
    return this.readings.has(describeRef(ref));
  }

  cancel(ref: ObjectRef): void {
    this.readings.delete(describeRef(ref));
  }

  stop(): void {
    this.abort.abort();
    this.readings.clear();
    for (const cancel of this.pauses) cancel();
  }

  private enqueue(reading: Reading): void {
    this.queue.push(reading);
    this.advance();
  }

  private advance(): void {
    while (this.active < CONCURRENCY) {
      const reading = this.queue.shift();
      if (reading === undefined) return;
      if (!this.isCurrent(reading)) continue;
      this.active += 1;
      void this.attempt(reading).finally(() => {
        this.active -= 1;
        this.advance();
      });
    }
  }

  private async attempt(reading: Reading): Promise<void> {
    const { client, clock, timeoutMs, onRead, observe } = this.options;
    const { ref, backoff } = reading;
    const kind = ref.kind as WatchedKind;
    observe(ref);
    let answer: { readonly item: unknown; readonly version: string };
    try {
      const response = await client.request('GET', collectionPath(kind, ref.namespace), {
        query: { fieldSelector: `metadata.name=${ref.name}` },
        timeoutMs,
        signal: this.abort.signal,
      });
      if (response.status !== 200) throw new KubernetesStatusError(response.status, response.body, response.headers);
      const { items, version } = readPage(response.body, kind, describeKind(kind).apiVersion);
      answer = { item: items[0], version };
    } catch (error) {
      if (!(error instanceof KubernetesStatusError) && !(error instanceof KubernetesUnreachable)) throw error;
      const retryAfterMs = error instanceof KubernetesStatusError ? (error.retryAfterMs ?? 0) : 0;
      const resume = clock.after(Math.max(backoff.next(), Math.min(retryAfterMs, 60_000)), () => {
        this.pauses.delete(resume);
        if (this.isCurrent(reading)) this.enqueue(reading);
      });
      this.pauses.add(resume);
      return;
    }
    if (!this.isCurrent(reading)) return;
    this.readings.delete(describeRef(ref));
    onRead(ref, answer.item, answer.version);
  }

  private isCurrent(reading: Reading): boolean {
    return this.readings.get(describeRef(reading.ref)) === reading;
  }
}
