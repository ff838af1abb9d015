/**
 * Lets an object through together with the Secrets and ConfigMaps that it refers to. Nothing else waits: each object is held by
 * itself, and not for long.
 */
import { describeRef, type ObjectRef } from '../model/object-ref.ts';
import type { Clock } from './clock.ts';
import type { Owner, Wanted } from './wanted.ts';

export interface ReferenceGateOptions<T extends ObjectRef> {
  readonly clock: Clock;
  /** Its owners are these objects, as messages name them. */
  readonly wanted: Wanted;
  referencesOf(object: T): readonly ObjectRef[];
  /** Somebody refers to these for the first time. */
  onGained(refs: readonly ObjectRef[]): void;
  /** Nobody refers to these any more. The object that did is through. */
  onLost(refs: readonly ObjectRef[]): void;
  /** It is being read, and not known whether it exists. */
  isReading(ref: ObjectRef): boolean;
  onUpsert(object: T): void;
  onRemove(ref: ObjectRef): void;
}

/** How long an object waits for what it refers to, in milliseconds. */
const PATIENCE_MS = 5_000;

interface Held<T> {
  readonly object: T;
  readonly refs: readonly ObjectRef[];
  readonly cancel: () => void;
}

export class ReferenceGate<T extends ObjectRef> {
  private readonly options: ReferenceGateOptions<T>;
  /** At most one version of each: a later one takes the place of the one that waits, but not its time. */
  private readonly held = new Map<Owner, Held<T>>();
  private readonly through = new Set<Owner>();

  constructor(options: ReferenceGateOptions<T>) {
    this.options = options;
  }

  /** Whether an object waits. */
  get isHolding(): boolean {
    return this.held.size > 0;
  }

  upsert(object: T): void {
    const { wanted, referencesOf, onGained, clock } = this.options;
    const owner = describeRef(object);
    const refs = referencesOf(object);
    // What the version before refers to is needed until this one is through.
    const { gained } = wanted.replace(owner, [...wanted.refsOf(owner), ...refs]);
    if (gained.length > 0) onGained(gained);
    const former = this.held.get(owner);
    if (!refs.some((ref) => this.options.isReading(ref))) this.letThrough(owner, object, refs);
    else
      this.held.set(owner, {
        object,
        refs,
        cancel: former?.cancel ?? clock.after(PATIENCE_MS, () => this.release(owner)),
      });
  }

  remove(ref: ObjectRef): void {
    const owner = describeRef(ref);
    this.forget(owner);
    if (this.through.delete(owner)) this.options.onRemove(ref);
    this.settleRefs(owner, []);
  }

  /** It is known now whether this exists. */
  settled(ref: ObjectRef): void {
    for (const owner of [...this.options.wanted.ownersOf(ref)]) this.tryRelease(owner);
  }

  stop(): void {
    for (const { cancel } of this.held.values()) cancel();
    this.held.clear();
  }

  private tryRelease(owner: Owner): void {
    const held = this.held.get(owner);
    if (held !== undefined && !held.refs.some((ref) => this.options.isReading(ref))) this.release(owner);
  }

  private release(owner: Owner): void {
    const held = this.held.get(owner);
    if (held !== undefined) this.letThrough(owner, held.object, held.refs);
  }

  private letThrough(owner: Owner, object: T, refs: readonly ObjectRef[]): void {
    this.forget(owner);
    this.through.add(owner);
    this.options.onUpsert(object);
    this.settleRefs(owner, refs);
  }

  /** The version that waits, if any, is void. */
  private forget(owner: Owner): void {
    this.held.get(owner)?.cancel();
    this.held.delete(owner);
  }

  private settleRefs(owner: Owner, refs: readonly ObjectRef[]): void {
    const { lost } = this.options.wanted.replace(owner, refs);
    if (lost.length > 0) this.options.onLost(lost);
  }
}
