/** One type of one stream: its subscription, the responses under way, and removals that wait. */
import { parentTypes } from './send-order.ts';
import type { SnapshotStore, TypeChange } from './store.ts';
import type { Batch, MaySend, Subscription, SubscriptionChange } from './subscription.ts';

/** A response that was written and not yet acknowledged or rejected. Holds names and versions, no bytes. */
export interface InFlight {
  readonly nonce: string;
  /** Counts over all responses of the stream. */
  readonly order: number;
  readonly sentAt: number;
  readonly versions: ReadonlyMap<string, string>;
  readonly removed: readonly string[];
  /** The commit up to which this response completes the type; `undefined` when more had to follow. */
  readonly completes: number | undefined;
}

/** A removal that waits until nothing names the resource any more, and then for its reply. */
interface HeldRemoval {
  readonly seq: number;
  readonly notBefore: number;
  /** Of the response that carries it. */
  nonce?: string;
}

export class TypeChannel {
  readonly typeUrl: string;
  readonly parents: readonly string[];
  private readonly subscription: Subscription;
  private readonly store: SnapshotStore;
  /** By nonce, oldest first. */
  private readonly inFlight = new Map<string, InFlight>();
  /** Names whose last sent version was rejected: the client still runs the version before. */
  private readonly rejected = new Set<string>();
  /** Oldest first. */
  private readonly held = new Map<string, HeldRemoval>();
  private settledBefore = 0;
  private started = false;
  private lastNonce = '';

  constructor(typeUrl: string, store: SnapshotStore, subscription: Subscription) {
    this.typeUrl = typeUrl;
    this.parents = parentTypes(typeUrl);
    this.store = store;
    this.subscription = subscription;
  }

  /** The last response that was not replied to. */
  get lastUnanswered(): InFlight | undefined {
    return [...this.inFlight.values()].at(-1);
  }

  get awaitsReply(): boolean {
    return this.inFlight.size > 0;
  }

  /** Whether the client has replied to everything that there is to send. Rejections count as replies. */
  get quiet(): boolean {
    return !this.awaitsReply && !this.subscription.pending;
  }

  /**
   * The commit up to which the client has accepted everything of this type, removals that wait left aside. While something is
   * under way this may be less than is true, never more.
   */
  get settledSeq(): number {
    return this.quiet && this.rejected.size === 0 ? this.store.seq : this.settledBefore;
  }

  /** Whether what this commit removed here is gone from the client. */
  hasRemoved(seq: number): boolean {
    const [oldest] = this.held.values();
    return this.settledSeq >= seq && (oldest === undefined || oldest.seq > seq);
  }

  /** Whether there may be something to send. */
  get pending(): boolean {
    return this.subscription.pending;
  }

  /** Number of names that the client asks for. */
  get size(): number {
    return this.subscription.size;
  }

  /** Whether resources wait that the client does not hold yet. */
  get hasAdditions(): boolean {
    return this.subscription.hasAdditions();
  }

  /** Whether a request with this nonce answers something else than the last response, so that it was written before that came. */
  isStale(nonce: string): boolean {
    return this.started && nonce !== '' && nonce !== this.lastNonce;
  }

  /** @returns whether this was the first request of the type on the stream. */
  request(change: SubscriptionChange): boolean {
    const first = !this.started;
    this.started = true;
    this.subscription.apply(change);
    for (const names of [this.rejected, this.held]) {
      for (const name of names.keys()) if (!this.subscription.covers(name)) names.delete(name);
    }
    return first;
  }

  /** Sends a resource once more, whatever its version, if the client wants it and it exists. */
  sendAgain(name: string): void {
    this.subscription.sendAgain(name);
  }

  /** What the next response carries; `undefined` when nothing is to be said. */
  take(maxBytes: number, maySend: MaySend): Batch | undefined {
    return this.subscription.take(maxBytes, maySend);
  }

  /** Whether the client has accepted the current version of a resource. */
  hasAccepted(name: string): boolean {
    if (this.rejected.has(name) || !this.subscription.isCurrent(name)) return false;
    return ![...this.inFlight.values()].some(({ versions }) => versions.has(name));
  }

  /** @param notBefore when removals of this commit may be sent at the earliest, if their parents have moved on by then. */
  commit(seq: number, { changed, removed }: TypeChange, notBefore: number): void {
    for (const name of this.spelled(changed)) {
      this.held.delete(name);
      this.subscription.mark(name);
    }
    for (const name of this.spelled(removed)) {
      this.subscription.unmark(name);
      if (this.subscription.holds(name)) this.remove(name, seq, notBefore);
    }
  }

  private *spelled(names: Iterable<string>): Iterable<string> {
    for (const name of names) yield* this.subscription.spellingsOf(name);
  }

  /** Compares a new subscription with the snapshot; what the client holds and is gone is removed like anything else. */
  resync(notBefore: number): void {
    for (const name of this.subscription.resync()) {
      if (!this.held.has(name)) this.remove(name, this.store.seq, notBefore);
    }
  }

  /**
   * Lets go of the removals whose parents have moved on.
   * @param isFree whether the parents have moved on from what this commit removed.
   * @returns when to look again, if only time is missing.
   */
  releaseRemovals(isFree: (seq: number) => boolean, now: number): number {
    for (const [name, { seq, notBefore, nonce }] of this.held) {
      if (nonce !== undefined) continue;
      if (!isFree(seq)) break;
      if (notBefore > now) return notBefore;
      this.subscription.mark(name);
    }
    return Number.POSITIVE_INFINITY;
  }

  /** Notes that a batch was written as the response number `order`. */
  sent(order: number, batch: Batch, now: number): InFlight {
    const nonce = String(order);
    for (const name of batch.removed) {
      const removal = this.held.get(name);
      if (removal !== undefined) removal.nonce = nonce;
    }
    const response: InFlight = {
      nonce,
      order,
      sentAt: now,
      versions: new Map(batch.resources.map(({ name, version }) => [name, version])),
      removed: batch.removed,
      completes: this.subscription.pending ? undefined : this.store.seq,
    };
    this.inFlight.set(nonce, response);
    this.lastNonce = nonce;
    return response;
  }

  /** @returns the response that was accepted; `undefined` for a nonce that is not (or no longer) under way. */
  acknowledge(nonce: string): InFlight | undefined {
    return this.finish(nonce, (name) => this.rejected.delete(name));
  }

  /**
   * Envoy takes each listener of a response by itself and names those that it refuses. One that leads to a cluster by itself is a
   * port of its own, which may be taken by another program: that holds up nothing else.
   * @returns the response that was rejected; `undefined` for a nonce that is not (or no longer) under way.
   */
  reject(nonce: string, message: string): InFlight | undefined {
    const names = [...(this.inFlight.get(nonce)?.versions.keys() ?? [])];
    const refused = names.filter((name) => [' ', '\n'].some((before) => message.includes(`${before}${name}: `)));
    const portsOnly = refused.every((name) => this.store.get(this.typeUrl, name)?.cluster !== undefined);
    if (refused.length > 0 && portsOnly) return this.acknowledge(nonce);
    return this.finish(nonce, (name) => this.rejected.add(name));
  }

  private finish(nonce: string, settle: (name: string) => void): InFlight | undefined {
    const response = this.inFlight.get(nonce);
    if (response === undefined) return undefined;
    const [oldest] = this.inFlight.keys();
    this.inFlight.delete(nonce);
    for (const name of response.versions.keys()) settle(name);
    for (const name of response.removed) {
      settle(name);
      if (this.held.get(name)?.nonce === nonce) this.held.delete(name);
    }
    if (oldest === nonce && this.rejected.size === 0 && response.completes !== undefined) {
      this.settledBefore = Math.max(this.settledBefore, response.completes);
    }
    return response;
  }

  private remove(name: string, seq: number, notBefore: number): void {
    if (!this.subscription.tellsRemovals) this.subscription.forget(name);
    else if (this.parents.length === 0) this.subscription.mark(name);
    else this.held.set(name, { seq, notBefore });
  }
}
