/**
 * What one stream wants and holds of one type, by the rules of the delta protocol
 * (https://www.envoyproxy.io/docs/envoy/v1.40.0/api-docs/xds_protocol#incremental-xds). No I/O, no time.
 */
import { Spellings } from './spellings.ts';
import type { StoredResource, TypeSnapshot } from './store.ts';
import { RESOURCE_OVERHEAD_BYTES } from './wire.ts';

/** The part of a request that concerns the subscription. */
export interface SubscriptionChange {
  /** Delta: names to add. State of the world: all names that are wanted from now on. */
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** Counts in the first request of a type only. */
  readonly initialVersions: ReadonlyMap<string, string>;
}

/** What goes into one response. */
export interface Batch {
  readonly resources: readonly StoredResource[];
  readonly removed: readonly string[];
  /** Names among the resources that the client did not hold before. */
  readonly added: readonly string[];
  /** What the client has already, repeated where a response has to hold everything (state of the world). */
  readonly unchanged: readonly StoredResource[];
}

/** What one stream wants and holds of one type, in either variant of the protocol. */
export interface Subscription {
  /** Whether a response can say that a resource is gone. Otherwise the client learns it from what named the resource. */
  readonly tellsRemovals: boolean;
  /** Whether there may be something to send. */
  readonly pending: boolean;
  /** Number of names that are asked for. */
  readonly size: number;
  /** A name of the snapshot in every spelling that is asked for, itself included. */
  spellingsOf(name: string): Iterable<string>;
  covers(name: string): boolean;
  /** Whether the client has the resource, as far as was sent or it says itself. */
  holds(name: string): boolean;
  /** Whether the client was sent the version of the snapshot. */
  isCurrent(name: string): boolean;
  apply(change: SubscriptionChange): void;
  /** To be compared again, because the snapshot has changed. */
  mark(name: string): void;
  /** Takes back `mark`: there is nothing to say about this name (for now). */
  unmark(name: string): void;
  /** The client is taken not to have the resource any more. */
  forget(name: string): void;
  /** Sends a resource that exists once more, whatever its version, if the client wants it at all. */
  sendAgain(name: string): void;
  /**
   * Compares a new subscription with the snapshot, which must have been committed by now.
   * @returns the names that the client holds from an earlier stream and that are gone, apart from those it asked for by name.
   */
  resync(): readonly string[];
  /** Whether resources wait that the client does not hold yet. */
  hasAdditions(): boolean;
  /**
   * Takes what the next response carries, as it stands in the snapshot now; where a response may hold a part, at most about
   * `maxBytes` (but at least one resource), and the rest stays pending.
   * @param maySend what must wait stays pending.
   * @returns `undefined` when nothing is to be said.
   */
  take(maxBytes: number, maySend?: MaySend): Batch | undefined;
  /** Whether a response may hold a part of what is wanted. */
  readonly mayDivide: boolean;
  /**
   * Takes what was sent before once more, in a response of its own: what the client wants and what has not changed since.
   * @returns `undefined` when nothing is left of it.
   */
  repeat(sent: readonly Sent[]): Batch | undefined;
}

/** What a response said of a name; without a version, that it is gone. */
export type Sent = readonly [name: string, version: string | undefined];

/** Whether a resource that was not asked for by name may be sent now; `isNew` if the client does not hold any version of it. */
export type MaySend = (resource: StoredResource, isNew: boolean) => boolean;

export const WILDCARD = '*';
/** Known version of what has to be sent again whatever its version is. No version is empty. */
const TO_SEND_AGAIN = '';

export class DeltaSubscription implements Subscription {
  readonly tellsRemovals = true;
  readonly mayDivide = true;
  private readonly snapshot: TypeSnapshot;
  private readonly legacyWildcard: boolean;
  private started = false;
  private wildcard = false;
  private readonly names = new Set<string>();
  private readonly spellings = new Spellings();
  /** Name → version as it was sent, rejected or not: what was rejected is not sent again until it changes. */
  private readonly known = new Map<string, string>();
  /** To be compared with the snapshot when the next response is made. Like `asked`, holds only what the client wants. */
  private readonly dirty = new Set<string>();
  /** Asked for by the client: answered in any case, by the resource or by its absence. */
  private readonly asked = new Set<string>();
  private answerDue = false;
  private resyncDue = false;

  /** @param legacyWildcard whether a first request without names means everything. */
  constructor(snapshot: TypeSnapshot, legacyWildcard: boolean) {
    this.snapshot = snapshot;
    this.legacyWildcard = legacyWildcard;
  }

  /** Whether there may be something to send. */
  get pending(): boolean {
    return this.answerDue || this.resyncDue || this.dirty.size > 0 || this.asked.size > 0;
  }

  /** Number of names that are asked for. */
  get size(): number {
    return this.names.size;
  }

  /** A name of the snapshot in every spelling that is asked for, itself included. */
  *spellingsOf(name: string): Iterable<string> {
    yield name;
    yield* this.spellings.of(name);
  }

  covers(name: string): boolean {
    return this.wildcard || this.names.has(name);
  }

  /** Whether the client has the resource, as far as was sent or it says itself. */
  holds(name: string): boolean {
    return this.known.has(name);
  }

  apply(change: SubscriptionChange): void {
    const first = !this.started;
    this.started = true;
    if (first) this.begin(change);
    for (const name of change.unsubscribe) this.unsubscribe(name);
    for (const name of change.subscribe) this.subscribe(name, first);
    if (first) this.forgetUncovered();
  }

  /** To be compared again, because the snapshot has changed. */
  mark(name: string): void {
    if (this.covers(name)) this.dirty.add(name);
  }

  /** Takes back `mark`: there is nothing to say about this name (for now). */
  unmark(name: string): void {
    this.dirty.delete(name);
  }

  /** Sends a resource that exists once more, whatever its version, if the client wants it at all. */
  sendAgain(name: string): void {
    if (!this.covers(name) || this.find(name) === undefined) return;
    if (this.known.has(name)) this.known.set(name, TO_SEND_AGAIN);
    this.dirty.add(name);
  }

  /**
   * Compares a new subscription with the snapshot, which must have been committed by now.
   * @returns the names that the client holds from an earlier stream and that are gone, apart from those it asked for by name.
   */
  resync(): readonly string[] {
    if (!this.resyncDue) return [];
    this.resyncDue = false;
    if (this.wildcard) for (const name of this.snapshot.names()) this.dirty.add(name);
    const gone: string[] = [];
    for (const name of this.known.keys()) {
      if (this.find(name) === undefined && !this.names.has(name)) gone.push(name);
    }
    return gone;
  }

  /** Whether resources wait that the client does not hold yet. */
  hasAdditions(): boolean {
    for (const queue of [this.asked, this.dirty]) {
      for (const name of queue) {
        if (!this.known.has(name) && this.find(name) !== undefined) return true;
      }
    }
    return false;
  }

  /** Whether the client was sent the version of the snapshot. */
  isCurrent(name: string): boolean {
    const version = this.snapshot.get(name)?.version;
    return version !== undefined && this.known.get(name) === version;
  }

  /**
   * Takes what the next response carries, at most about `maxBytes` (but at least one resource), as it stands in the
   * snapshot now. The rest stays pending.
   * @param maySend what must wait stays pending.
   * @returns `undefined` when nothing is to be said.
   */
  take(maxBytes: number, maySend: MaySend = () => true): Batch | undefined {
    const batch = new BatchBuilder(maxBytes);
    for (const queue of [this.asked, this.dirty]) {
      for (const name of queue) {
        if (queue === this.dirty && this.mustWait(name, maySend)) continue;
        if (!this.takeOne(name, queue === this.asked, batch)) return this.answer(batch);
        queue.delete(name);
      }
    }
    return this.answer(batch);
  }

  repeat(sent: readonly Sent[]): Batch | undefined {
    const batch = new BatchBuilder(Number.POSITIVE_INFINITY);
    for (const [name, version] of sent) {
      const resource = this.find(name);
      if (!this.covers(name) || resource?.version !== version || this.known.get(name) !== version) continue;
      if (resource === undefined) batch.remove(name);
      else batch.add(resource, false);
    }
    return batch.empty ? undefined : batch;
  }

  private find(name: string): StoredResource | undefined {
    const exact = this.snapshot.get(name);
    if (exact !== undefined) return exact;
    const other = this.spellings.nameOf(name);
    return other === undefined ? undefined : this.snapshot.get(other)?.as(name);
  }

  private mustWait(name: string, maySend: MaySend): boolean {
    const resource = this.snapshot.get(name);
    const known = this.known.get(name);
    return resource !== undefined && known !== resource.version && !maySend(resource, known === undefined);
  }

  private answer(batch: BatchBuilder): Batch | undefined {
    const due = this.answerDue || !batch.empty;
    this.answerDue = false;
    return due ? batch : undefined;
  }

  /** @returns whether the name fitted in. */
  private takeOne(name: string, asked: boolean, batch: BatchBuilder): boolean {
    const resource = this.find(name);
    if (!asked && this.known.get(name) === resource?.version) return true;
    if (resource === undefined) {
      if (!batch.remove(name)) return false;
      this.known.delete(name);
    } else {
      if (!batch.add(resource, !this.known.has(name))) return false;
      this.known.set(name, resource.version);
    }
    return true;
  }

  private begin({ subscribe, initialVersions }: SubscriptionChange): void {
    for (const [name, version] of initialVersions) this.known.set(name, version);
    if (initialVersions.size > 0) this.resyncDue = true;
    if (subscribe.length === 0 && this.legacyWildcard) this.subscribe(WILDCARD, true);
  }

  private subscribe(name: string, first: boolean): void {
    if (name === WILDCARD) this.startWildcard();
    else if (name !== '') {
      this.names.add(name);
      this.spellings.add(name);
      // A client that comes back and says which version it holds is told only what differs.
      if (first && this.known.has(name)) this.dirty.add(name);
      else this.asked.add(name);
    }
  }

  /** The client waits for a first answer even when it holds everything already. */
  private startWildcard(): void {
    this.answerDue = true;
    if (!this.wildcard) this.resyncDue = true;
    this.wildcard = true;
  }

  private unsubscribe(name: string): void {
    if (name === WILDCARD) {
      this.wildcard = false;
      this.answerDue = false;
      this.forgetUncovered();
    } else if (this.names.delete(name)) {
      this.spellings.delete(name);
      // Under a wildcard the client cannot know whether it may keep the resource: it is told where it stands.
      if (this.wildcard) this.asked.add(name);
      else this.forget(name);
    }
  }

  private forgetUncovered(): void {
    for (const queue of [this.known.keys(), this.asked, this.dirty]) {
      for (const name of queue) if (!this.covers(name)) this.forget(name);
    }
  }

  forget(name: string): void {
    this.known.delete(name);
    this.asked.delete(name);
    this.dirty.delete(name);
  }
}

export class BatchBuilder implements Batch {
  readonly resources: StoredResource[] = [];
  readonly removed: string[] = [];
  readonly added: string[] = [];
  readonly unchanged: StoredResource[] = [];
  private bytesLeft: number;

  constructor(maxBytes: number) {
    this.bytesLeft = maxBytes;
  }

  get empty(): boolean {
    return this.resources.length === 0 && this.removed.length === 0;
  }

  add(resource: StoredResource, isNew: boolean): boolean {
    if (!this.reserve(resource.body().length + resource.name.length + RESOURCE_OVERHEAD_BYTES)) return false;
    this.resources.push(resource);
    if (isNew) this.added.push(resource.name);
    return true;
  }

  remove(name: string): boolean {
    if (!this.reserve(name.length)) return false;
    this.removed.push(name);
    return true;
  }

  repeat(resource: StoredResource): void {
    this.unchanged.push(resource);
  }

  private reserve(bytes: number): boolean {
    if (!this.empty && bytes > this.bytesLeft) return false;
    this.bytesLeft -= bytes;
    return true;
  }
}
