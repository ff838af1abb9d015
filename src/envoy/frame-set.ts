import { createHash } from 'node:crypto';
import type { HostName } from '../model/proxy-model.ts';
import type { Frame } from './frame.ts';

/** An encoded host, or those of its names that belong to the set, and a version that tells both. */
export type FrameEntry = Pick<Frame, 'version' | 'bytes' | 'names'>;

type Frames = ReadonlyMap<HostName, FrameEntry>;

/**
 * Encoded hosts by name. A change is O(1), and so is taking a snapshot: a snapshot shares the live map, and learns what to undo
 * in it as the set moves on.
 */
export class FrameSet {
  private readonly frames = new Map<HostName, FrameEntry>();
  /** A hash of the content that does not depend on the order in which it came: the sum over the hosts' own hashes. */
  private sum = 0n;
  private latest: FrameSetSnapshot | undefined;

  get size(): number {
    return this.frames.size;
  }

  /** The host must not be in the set. */
  add(host: HostName, entry: FrameEntry): void {
    this.latest?.willChange(host, this.frames.get(host));
    this.frames.set(host, entry);
    this.sum += entryHash(host, entry);
  }

  /** The host must be in the set, with this entry. */
  remove(host: HostName, entry: FrameEntry): void {
    this.latest?.willChange(host, this.frames.get(host));
    this.frames.delete(host);
    this.sum -= entryHash(host, entry);
  }

  snapshot(): FrameSetSnapshot {
    const snapshot = new FrameSetSnapshot(this.sum.toString(16), this.frames);
    this.latest?.supersede(snapshot);
    this.latest = snapshot;
    return snapshot;
  }
}

/** What a set held at one moment, for as long as somebody keeps it. */
export class FrameSetSnapshot {
  /** Equal for equal content, whatever happened before. */
  readonly hash: string;
  private readonly live: Frames;
  /** The next snapshot, and how its content (until there is one, the live content) leads back to this one. */
  private next: FrameSetSnapshot | undefined;
  private readonly undo = new Map<HostName, FrameEntry | undefined>();

  constructor(hash: string, live: Frames) {
    this.hash = hash;
    this.live = live;
  }

  /** Sorted by host name. */
  sorted(): (readonly [HostName, FrameEntry])[] {
    return [...this.content()].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** `former`: what the set holds of the host now; the first of several changes counts. */
  willChange(host: HostName, former: FrameEntry | undefined): void {
    if (!this.undo.has(host)) this.undo.set(host, former);
  }

  supersede(next: FrameSetSnapshot): void {
    this.next = next;
  }

  private content(): Frames {
    if (this.undo.size === 0 && this.next === undefined) return this.live;
    const content = new Map(this.next?.content() ?? this.live);
    for (const [host, former] of this.undo) {
      if (former === undefined) content.delete(host);
      else content.set(host, former);
    }
    return content;
  }
}

function entryHash(host: HostName, { version }: FrameEntry): bigint {
  return BigInt(`0x${createHash('sha256').update(`${host}\0${version}`).digest('hex')}`);
}
