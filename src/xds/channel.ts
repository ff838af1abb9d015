/** One type of one stream: its subscription, the responses under way, and removals that wait. */
import { typeUrls } from './resource.ts';
import { parentTypes } from './send-order.ts';
import type { SnapshotStore, TypeChange } from './store.ts';
import type { Batch, MaySend, Sent, Subscription, SubscriptionChange } from './subscription.ts';

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

export interface Rejection {
  readonly response: InFlight;
  /** Names of what was refused, as far as is known. */
  readonly refused: ReadonlySet<string>;
  /** Whether the response is sent again in parts, to find out which resource is to blame. */
  readonly divided: boolean;
}

/** Envoy takes each resource of a response by itself, and names those that it refuses. Of other types it may leave any out. */
const takenOneByOne: ReadonlySet<string> = new Set([typeUrls.cluster, typeUrls.listener]);

export class TypeChannel {
  readonly typeUrl: string;
  readonly parents: readonly string[];
  private readonly subscription: Subscription;
  private readonly store: SnapshotStore;
  /** By nonce, oldest first. */
  private readonly inFlight = new Map<string, InFlight>();
  /** Names whose last sent version was rejected: the client still runs the version before. */
  private readonly rejected = new Set<string>();
  /** Parts of rejected responses, to be sent by themselves. */
  private readonly suspects: (readonly Sent[])[] = [];
  /** Oldest first. */
  private readonly held = new Map<string, HeldRemoval>();
  private settledBefore = 0;
  private acceptedBefore = 0;
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
    return !this.awaitsReply && !this.pending;
  }

  /** Whether the client runs older versions of something than it was sent. */
  get rejects(): boolean {
    return this.rejected.size > 0;
  }

  /**
   * The commit up to which the client has accepted everything of this type that it accepts at all, removals that wait left
   * aside: what it rejects, alone, holds up nobody else. While something is under way this may be less than is true, never more.
   */
  get settledSeq(): number {
    return this.quiet ? this.store.seq : this.settledBefore;
  }

  /** Whether what this commit removed here is gone from the client. What runs in an older version may name what is gone. */
  hasRemoved(seq: number): boolean {
    const [oldest] = this.held.values();
    const acceptedSeq = this.quiet && !this.rejects ? this.store.seq : this.acceptedBefore;
    return acceptedSeq >= seq && (oldest === undefined || oldest.seq > seq);
  }

  /** Whether there may be something to send. */
  get pending(): boolean {
    return this.suspects.length > 0 || this.subscription.pending;
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
    for (let part = this.suspects.shift(); part !== undefined; part = this.suspects.shift()) {
      const batch = this.subscription.repeat(part);
      if (batch !== undefined) return batch;
    }
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
      completes: this.pending ? undefined : this.store.seq,
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
   * Takes note that a response was rejected. Where the client does not name what it refuses, the rest may be lost with it: the
   * response is sent again in two halves, and so on, until what is refused stands alone. So no response is sent twice.
   * Envoy 1.40 accepts a secret or ignores it when it comes again, so that there the halves bring the others alone.
   *
   * A listener that leads to a cluster by itself is a port of its own, which may be taken by another program: that holds up nothing.
   * @returns `undefined` for a nonce that is not (or no longer) under way.
   */
  reject(nonce: string, message: string): Rejection | undefined {
    const { versions = new Map<string, string>(), removed = [] } = this.inFlight.get(nonce) ?? {};
    const named = takenOneByOne.has(this.typeUrl) ? [...versions.keys()].filter((name) => isNamed(name, message)) : [];
    const refused = new Set(named.length > 0 ? named : [...versions.keys(), ...removed]);
    const sent: Sent[] = [...versions, ...removed.map((name): Sent => [name, undefined])];
    const divided = named.length === 0 && sent.length > 1 && this.subscription.mayDivide;
    if (divided) {
      const middle = Math.ceil(sent.length / 2);
      this.suspects.push(sent.slice(0, middle), sent.slice(middle));
    }
    const portsOnly = named.every((name) => this.store.get(this.typeUrl, name)?.cluster !== undefined);
    const runsOn = (name: string) => !refused.has(name) || (named.length > 0 && portsOnly);
    const response = this.finish(nonce, (name) =>
      runsOn(name) ? this.rejected.delete(name) : this.rejected.add(name),
    );
    return response && { response, refused, divided };
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
    if (oldest === nonce && this.suspects.length === 0 && response.completes !== undefined) {
      this.settledBefore = Math.max(this.settledBefore, response.completes);
      if (!this.rejects) this.acceptedBefore = Math.max(this.acceptedBefore, response.completes);
    }
    return response;
  }

  private remove(name: string, seq: number, notBefore: number): void {
    if (!this.subscription.tellsRemovals) this.subscription.forget(name);
    else if (this.parents.length === 0) this.subscription.mark(name);
    else this.held.set(name, { seq, notBefore });
  }
}

/** As Envoy lists them: `Error adding/updating listener(s) a: …`, more of them after a space or on a line of their own. */
function isNamed(name: string, message: string): boolean {
  return [' ', '\n'].some((before) => message.includes(`${before}${name}: `));
}
