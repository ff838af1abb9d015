/**
 * What one stream wants and holds of one type, by the rules of the state-of-the-world protocol
 * (https://www.envoyproxy.io/docs/envoy/v1.40.0/api-docs/xds_protocol#variants-of-the-xds-transport-protocol). No I/O, no time.
 *
 * A request names everything that is wanted. A response of clusters, listeners or scopes holds everything that is wanted, so
 * that what is missing is gone; a response of any other type holds what is new, and nothing tells that a resource is gone.
 */
import type { StoredResource, TypeSnapshot } from './store.ts';
import {
  type Batch,
  BatchBuilder,
  type MaySend,
  type Sent,
  type Subscription,
  type SubscriptionChange,
  WILDCARD,
} from './subscription.ts';

export interface SotwOptions {
  /** Whether a response holds everything that is wanted. */
  readonly full: boolean;
  /** Whether no names mean everything, as long as none was ever given. */
  readonly legacyWildcard: boolean;
}

export class SotwSubscription implements Subscription {
  readonly tellsRemovals: boolean;
  readonly mayDivide: boolean;
  private readonly snapshot: TypeSnapshot;
  private readonly options: SotwOptions;
  private wildcard = false;
  private everNamed = false;
  private names: ReadonlySet<string> = new Set();
  /** As it was sent, rejected or not. What has left the snapshot is kept: it is repeated until its removal is let go. */
  private readonly known = new Map<string, StoredResource>();
  /** To be compared with the snapshot when the next response is made. */
  private readonly dirty = new Set<string>();
  /** To be sent in any case. */
  private readonly asked = new Set<string>();
  private answerDue = false;
  private resyncDue = false;

  constructor(snapshot: TypeSnapshot, options: SotwOptions) {
    this.snapshot = snapshot;
    this.options = options;
    this.tellsRemovals = options.full;
    this.mayDivide = !options.full;
  }

  get pending(): boolean {
    return this.answerDue || this.resyncDue || this.dirty.size > 0 || this.asked.size > 0;
  }

  get size(): number {
    return this.names.size;
  }

  *spellingsOf(name: string): Iterable<string> {
    yield name;
  }

  covers(name: string): boolean {
    return this.wildcard || this.names.has(name);
  }

  holds(name: string): boolean {
    return this.known.has(name);
  }

  isCurrent(name: string): boolean {
    const version = this.snapshot.get(name)?.version;
    return version !== undefined && this.known.get(name)?.version === version;
  }

  apply({ subscribe }: SubscriptionChange): void {
    if (subscribe.length > 0) this.everNamed = true;
    const wildcard = subscribe.includes(WILDCARD) || (!this.everNamed && this.options.legacyWildcard);
    // An empty name is no name: it is how a client says that it wants nothing any more.
    const names = new Set(subscribe.filter((name) => name !== WILDCARD && name !== ''));
    const added = [...names].filter((name) => !this.names.has(name));
    if (wildcard && !this.wildcard) this.resyncDue = true;
    if (this.options.full && (added.length > 0 || (wildcard && !this.wildcard))) this.answerDue = true;
    this.wildcard = wildcard;
    this.names = names;
    for (const name of added) this.asked.add(name);
    this.forgetUncovered();
  }

  mark(name: string): void {
    if (this.covers(name)) this.dirty.add(name);
  }

  unmark(name: string): void {
    this.dirty.delete(name);
  }

  forget(name: string): void {
    this.known.delete(name);
    this.asked.delete(name);
    this.dirty.delete(name);
  }

  sendAgain(name: string): void {
    if (this.covers(name) && this.snapshot.get(name) !== undefined) this.asked.add(name);
  }

  resync(): readonly string[] {
    if (this.resyncDue) for (const name of this.snapshot.names()) this.dirty.add(name);
    this.resyncDue = false;
    return [];
  }

  hasAdditions(): boolean {
    for (const queue of [this.asked, this.dirty]) {
      for (const name of queue) if (!this.known.has(name) && this.snapshot.get(name) !== undefined) return true;
    }
    return false;
  }

  /** A response that holds everything is not divided, whatever its size: a client would delete what the first part lacks. */
  take(maxBytes: number, maySend: MaySend = () => true): Batch | undefined {
    return this.options.full ? this.takeAll(maySend) : this.takeNews(maxBytes);
  }

  repeat(sent: readonly Sent[]): Batch | undefined {
    const batch = new BatchBuilder(Number.POSITIVE_INFINITY);
    for (const [name, version] of sent) {
      const resource = this.snapshot.get(name);
      const isSame = resource?.version === version && this.known.get(name)?.version === version;
      if (resource !== undefined && isSame) batch.add(resource, false);
    }
    return batch.empty ? undefined : batch;
  }

  private takeNews(maxBytes: number): Batch | undefined {
    const batch = new BatchBuilder(maxBytes);
    for (const queue of [this.asked, this.dirty]) {
      for (const name of queue) {
        const resource = this.snapshot.get(name);
        if (resource === undefined) this.known.delete(name);
        else if (queue === this.asked || this.known.get(name)?.version !== resource.version) {
          if (!batch.add(resource, !this.known.has(name))) return batch;
          this.known.set(name, resource);
        }
        queue.delete(name);
      }
    }
    return batch.empty ? undefined : batch;
  }

  private takeAll(maySend: MaySend): Batch | undefined {
    if (!this.hasNews(maySend)) return undefined;
    this.answerDue = false;
    const batch = new BatchBuilder(Number.POSITIVE_INFINITY);
    // Sorted, so that the first response is the same on every replica.
    for (const name of [...this.coveredNames()].sort()) this.takeOne(name, batch, maySend);
    this.asked.clear();
    return batch;
  }

  private takeOne(name: string, batch: BatchBuilder, maySend: MaySend): void {
    const resource = this.snapshot.get(name);
    const sent = this.known.get(name);
    if (!this.moves(name, maySend)) {
      if (sent === undefined) return;
      batch.repeat(sent);
      if (sent.version === resource?.version) this.dirty.delete(name);
      return;
    }
    this.dirty.delete(name);
    if (resource === undefined) {
      batch.remove(name);
      this.known.delete(name);
    } else {
      batch.add(resource, sent === undefined);
      this.known.set(name, resource);
    }
  }

  private hasNews(maySend: MaySend): boolean {
    if (this.answerDue || this.asked.size > 0) return true;
    for (const name of this.dirty) {
      if (this.moves(name, maySend)) return true;
      // What may not change yet stays dirty; what is as it was sent does not.
      if (this.known.get(name)?.version === this.snapshot.get(name)?.version) this.dirty.delete(name);
    }
    return false;
  }

  /** Whether the next response says something new of this name. What is gone stays until its removal was let go by `mark`. */
  private moves(name: string, maySend: MaySend): boolean {
    const resource = this.snapshot.get(name);
    const sent = this.known.get(name);
    if (resource === undefined) return sent !== undefined && this.dirty.has(name);
    if (this.asked.has(name)) return true;
    return sent?.version !== resource.version && maySend(resource, sent === undefined);
  }

  private *coveredNames(): Iterable<string> {
    yield* this.known.keys();
    const candidates = this.wildcard ? this.snapshot.names() : this.names;
    for (const name of candidates) {
      if (!this.known.has(name) && this.snapshot.get(name) !== undefined) yield name;
    }
  }

  private forgetUncovered(): void {
    for (const queue of [this.known.keys(), this.asked, this.dirty]) {
      for (const name of queue) if (!this.covers(name)) this.forget(name);
    }
  }
}
