/** Kubernetes Events (core/v1): what `kubectl describe` shows below an object. Best effort: nobody waits for them. */
import { hash } from 'node:crypto';
import type { ObjectRef } from '../model/object-ref.ts';
import { Backoff } from './backoff.ts';
import type { KubernetesClient, KubernetesResponse } from './client.ts';
import { type Clock, systemClock } from './clock.ts';
import { KubernetesStatusError } from './errors.ts';
import { asMap } from './json.ts';
import { TokenBucket } from './token-bucket.ts';

export interface EventRecord {
  readonly ref: ObjectRef;
  /** `kubectl describe` shows only Events with the uid of the object. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly type: 'Normal' | 'Warning';
  /** A word in PascalCase, at most 128 characters. */
  readonly reason: string;
  /** Cut to 1,024 bytes. */
  readonly message: string;
}

export interface EventRecorderOptions {
  readonly client: Pick<KubernetesClient, 'request'>;
  /** Who says it. */
  readonly component: string;
  /** Where: the name of the pod or node. */
  readonly host: string;
  /** Why Events cannot be sent, in words; each problem once. */
  readonly onProblem: (message: string) => void;
  readonly clock?: Clock;
}

/** Totals. */
export interface EventCounters {
  created: number;
  /** Repetitions that were counted in an Event that there was. */
  patched: number;
  /** Left out for the limits, or because the API server did not want them. */
  dropped: number;
}

export interface EventRecorder {
  /** Returns at once. The same again becomes one Event with a count. */
  record(event: EventRecord): void;
  readonly counters: Readonly<EventCounters>;
  /** Sends what was recorded, for 2 s at most. */
  stop(): Promise<void>;
}

const API_VERSIONS: Readonly<Record<string, string>> = {
  Ingress: 'networking.k8s.io/v1',
  IngressClass: 'networking.k8s.io/v1',
  EndpointSlice: 'discovery.k8s.io/v1',
};

/** As client-go: an object may have 25 Events at once, and then one in five minutes. */
const OBJECT_BURST = 25;
const OBJECT_PER_SECOND = 1 / 300;
/** For all objects together. */
const BURST = 100;
const PER_SECOND = 20;
/** Of each type, so that warnings find place whatever else there is. */
const QUEUE_LENGTH = 1_000;
/** How many Events and objects are remembered. */
const MEMORY = 4_096;
const CONCURRENCY = 4;
/** The count of an Event is brought up to date this often at most. */
const REPEAT_MS = 10_000;
const MESSAGE_BYTES = 1_024;
const BACKOFF = { baseMs: 1_000, capMs: 60_000 };
const DENIED_MS = 300_000;
const STOP_MS = 2_000;

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new QueueingRecorder(options);
}

/** An Event that was or is to be sent. */
interface Entry {
  readonly key: string;
  readonly event: EventRecord;
  readonly first: Date;
  last: Date;
  count: number;
  /** Of the Event object, once the API server has it. */
  name: string | undefined;
  nextAt: number;
  state: 'idle' | 'queued' | 'sending';
  /** Repeated since it was sent last. */
  stale: boolean;
}

class QueueingRecorder implements EventRecorder {
  readonly counters: EventCounters = { created: 0, patched: 0, dropped: 0 };
  private readonly options: EventRecorderOptions;
  private readonly clock: Clock;
  private readonly total: TokenBucket;
  private readonly backoff: Backoff;
  /** The least recently used first, both. */
  private readonly entries = new Map<string, Entry>();
  private readonly objects = new Map<string, TokenBucket>();
  private readonly queues = { Warning: new Set<Entry>(), Normal: new Set<Entry>() };
  private readonly ending = new AbortController();
  private sending = 0;
  private names = 0;
  private failing = false;
  /** Problems that were told. */
  private readonly told = new Set<string>();
  /** Namespaces in which we may not send Events, and when to try again. */
  private readonly denied = new Map<string, number>();
  private stopping = false;
  private cancelPause: (() => void) | undefined;
  private onIdle = () => {};

  constructor(options: EventRecorderOptions) {
    this.options = options;
    this.clock = options.clock ?? systemClock;
    this.total = new TokenBucket(this.clock, PER_SECOND, BURST);
    this.backoff = new Backoff({ ...BACKOFF, random: () => this.clock.random() });
  }

  record(event: EventRecord): void {
    if (this.stopping) return;
    if (this.isDenied(event.ref) || !this.bucketOf(event).take()) {
      this.counters.dropped++;
      return;
    }
    const entry = this.entryOf({ ...event, message: cutToBytes(event.message, MESSAGE_BYTES) });
    entry.count++;
    entry.last = this.clock.date();
    entry.stale = true;
    this.schedule(entry);
  }

  async stop(): Promise<void> {
    this.stopping = true;
    if (this.sending > 0 || this.waiting) {
      await new Promise<void>((resolve) => {
        this.onIdle = resolve;
        this.clock.after(STOP_MS, resolve);
      });
    }
    this.cancelPause?.();
    for (const queue of Object.values(this.queues)) queue.clear();
    this.ending.abort();
  }

  private get waiting(): boolean {
    return this.queues.Warning.size + this.queues.Normal.size > 0;
  }

  private bucketOf({ ref }: EventRecord): TokenBucket {
    const key = `${ref.kind} ${ref.namespace}/${ref.name}`;
    const bucket = this.objects.get(key) ?? new TokenBucket(this.clock, OBJECT_PER_SECOND, OBJECT_BURST);
    return remember(this.objects, key, bucket);
  }

  private entryOf(event: EventRecord): Entry {
    const { ref, uid, type, reason, message } = event;
    const key = hash('sha1', JSON.stringify([ref.kind, ref.namespace, ref.name, uid, type, reason, message]));
    const now = this.clock.date();
    const known = this.entries.get(key);
    return remember(
      this.entries,
      key,
      known ?? { key, event, first: now, last: now, count: 0, name: undefined, nextAt: 0, state: 'idle', stale: false },
    );
  }

  private schedule(entry: Entry): void {
    if (entry.state !== 'idle') return;
    const delayMs = entry.nextAt - this.clock.now();
    entry.state = 'queued';
    if (delayMs <= 0) this.enqueue(entry);
    else this.clock.after(delayMs, () => this.enqueue(entry));
  }

  private enqueue(entry: Entry): void {
    if (this.ending.signal.aborted) return;
    const queue = this.queues[entry.event.type];
    if (queue.size >= QUEUE_LENGTH) {
      entry.state = 'idle';
      this.counters.dropped++;
      return;
    }
    queue.add(entry);
    this.pump();
  }

  private pump(): void {
    const limit = this.failing ? 1 : CONCURRENCY;
    while (this.cancelPause === undefined && this.sending < limit) {
      const entry = this.next();
      if (entry === undefined) break;
      if (!this.total.take()) {
        this.pause(this.total.waitMs);
        return;
      }
      this.queues[entry.event.type].delete(entry);
      void this.send(entry);
    }
    if (this.sending === 0 && !this.waiting) this.onIdle();
  }

  private next(): Entry | undefined {
    for (const queue of [this.queues.Warning, this.queues.Normal]) {
      for (const entry of queue) {
        if (!this.isDenied(entry.event.ref)) return entry;
        queue.delete(entry);
        entry.state = 'idle';
        this.counters.dropped++;
      }
    }
    return undefined;
  }

  private async send(entry: Entry): Promise<void> {
    const { ref } = entry.event;
    this.sending++;
    entry.state = 'sending';
    entry.stale = false;
    let again = false;
    try {
      if (entry.name === undefined || !(await this.patch(entry))) await this.create(entry);
      this.succeeded(ref);
    } catch (error) {
      again = !this.ending.signal.aborted && this.failed(error, ref);
      if (!again) this.counters.dropped++;
    }
    this.sending--;
    entry.state = 'idle';
    entry.nextAt = again ? 0 : this.clock.now() + REPEAT_MS;
    if (again || entry.stale) this.schedule(entry);
    this.pump();
  }

  /** False when the API server has forgotten the Event: it keeps them for an hour. */
  private async patch(entry: Entry): Promise<boolean> {
    const { status, headers, body } = await this.request('PATCH', `${collectionOf(entry.event.ref)}/${entry.name}`, {
      count: entry.count,
      lastTimestamp: timestamp(entry.last),
    });
    if (status === 404) return false;
    if (status !== 200) throw new KubernetesStatusError(status, body, headers);
    this.counters.patched++;
    return true;
  }

  private async create(entry: Entry): Promise<void> {
    const name = this.newName(entry.event.ref);
    const { component, host } = this.options;
    const { ref, uid, resourceVersion, type, reason, message } = entry.event;
    const { status, headers, body } = await this.request('POST', collectionOf(ref), {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace: namespaceOf(ref) },
      involvedObject: {
        apiVersion: API_VERSIONS[ref.kind] ?? 'v1',
        kind: ref.kind,
        ...(ref.namespace !== '' && { namespace: ref.namespace }),
        name: ref.name,
        ...(uid !== undefined && { uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
      type,
      reason,
      message,
      source: { component, host },
      reportingComponent: component,
      reportingInstance: host,
      firstTimestamp: timestamp(entry.first),
      lastTimestamp: timestamp(entry.last),
      count: entry.count,
    });
    // A namespace that is gone or ends wants no Events any more.
    if (status === 404 || isTerminating(body)) return;
    if (status !== 201) throw new KubernetesStatusError(status, body, headers);
    entry.name = name;
    this.counters.created++;
  }

  private succeeded(ref: ObjectRef): void {
    this.failing = false;
    this.backoff.reset();
    const denial = denialOf(namespaceOf(ref));
    for (const problem of this.told) {
      if (problem === denial || !problem.startsWith(denialOf(''))) this.told.delete(problem);
    }
  }

  /** Whether to try it again. */
  private failed(error: unknown, ref: ObjectRef): boolean {
    const status = error instanceof KubernetesStatusError ? error.status : undefined;
    const again = status === undefined || status === 429 || status >= 500;
    if (again && this.cancelPause === undefined) {
      this.failing = true;
      const asked = error instanceof KubernetesStatusError ? (error.retryAfterMs ?? 0) : 0;
      this.pause(Math.max(asked, this.backoff.next()));
    }
    // What nobody has granted is not granted within seconds.
    if (status === 403) this.denied.set(namespaceOf(ref), this.clock.now() + DENIED_MS);
    this.tell(error, status, namespaceOf(ref));
    return again;
  }

  private isDenied(ref: ObjectRef): boolean {
    const until = this.denied.get(namespaceOf(ref));
    return until !== undefined && this.clock.now() < until;
  }

  private tell(error: unknown, status: number | undefined, namespace: string): void {
    const problem = status === 403 ? denialOf(namespace) : `${status}`;
    if (this.told.has(problem)) return;
    this.told.add(problem);
    const reason = error instanceof Error ? error.message : String(error);
    const advice = status === 403 ? '; grant create and patch on events' : '';
    this.options.onProblem(`Events in namespace ${namespace} cannot be sent: ${reason}${advice}`);
  }

  private pause(delayMs: number): void {
    this.cancelPause = this.clock.after(delayMs, () => {
      this.cancelPause = undefined;
      this.pump();
    });
  }

  private async request(method: 'POST' | 'PATCH', path: string, body: unknown): Promise<KubernetesResponse> {
    return await this.options.client.request(method, path, {
      body,
      signal: this.ending.signal,
      ...(method === 'PATCH' && { contentType: 'application/merge-patch+json' }),
    });
  }

  /** As client-go: the name of the object and a number in time, here with one that counts. */
  private newName({ name }: ObjectRef): string {
    const time = (BigInt(this.clock.date().getTime()) * 1_000_000n + BigInt(this.names++ % 1_000_000)).toString(16);
    return `${name.slice(0, 253 - 1 - time.length)}.${time}`;
  }
}

/** Puts the key last, and forgets the first one of too many. */
function remember<V>(map: Map<string, V>, key: string, value: V): V {
  map.delete(key);
  map.set(key, value);
  if (map.size > MEMORY) {
    for (const first of map.keys()) {
      map.delete(first);
      break;
    }
  }
  return value;
}

/** Events of objects without a namespace stand in `default`. */
function namespaceOf({ namespace }: ObjectRef): string {
  return namespace === '' ? 'default' : namespace;
}

/** How the problem of a namespace without permission is remembered. */
function denialOf(namespace: string): string {
  return `403 ${namespace}`;
}

function collectionOf(ref: ObjectRef): string {
  return `/api/v1/namespaces/${namespaceOf(ref)}/events`;
}

function isTerminating(body: unknown): boolean {
  const causes = asMap(asMap(body)['details'])['causes'];
  return Array.isArray(causes) && causes.some((cause) => asMap(cause)['reason'] === 'NamespaceTerminating');
}

/** Whole characters. */
function cutToBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  if (encoded.length <= bytes) return text;
  let end = bytes - 3;
  while (((encoded[end] ?? 0) & 0xc0) === 0x80) end--;
  return `${encoded.subarray(0, end).toString('utf8')}...`;
}

function timestamp(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}
