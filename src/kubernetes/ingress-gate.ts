/**
 * Lets an Ingress through together with the Secrets and ConfigMaps that it refers to. Nothing else waits: each Ingress is held
 * by itself, and not for long.
 */
import type { Ingress } from '../cluster/objects.ts';
import { type ObjectKey, type ObjectRef, objectKey } from '../model/object-ref.ts';
import type { Clock } from './clock.ts';
import type { Wanted } from './wanted.ts';

export interface IngressGateOptions {
  readonly clock: Clock;
  /** Its owners are the keys of the Ingresses. */
  readonly wanted: Wanted;
  referencesOf(ingress: Ingress): readonly ObjectRef[];
  /** Somebody refers to these for the first time. */
  onGained(refs: readonly ObjectRef[]): void;
  /** Nobody refers to these any more. The Ingress that did is through. */
  onLost(refs: readonly ObjectRef[]): void;
  /** It is being read, and not known whether it exists. */
  isReading(ref: ObjectRef): boolean;
  onUpsert(ingress: Ingress): void;
  onRemove(key: ObjectKey): void;
}

/** How long an Ingress waits for what it refers to, in milliseconds. */
const PATIENCE_MS = 5_000;

interface Held {
  readonly ingress: Ingress;
  readonly refs: readonly ObjectRef[];
  readonly cancel: () => void;
}

export class IngressGate {
  private readonly options: IngressGateOptions;
  /** At most one version of each: a later one takes the place of the one that waits, but not its time. */
  private readonly held = new Map<ObjectKey, Held>();
  private readonly through = new Set<ObjectKey>();

  constructor(options: IngressGateOptions) {
    this.options = options;
  }

  upsert(ingress: Ingress): void {
    const { wanted, referencesOf, onGained, clock } = this.options;
    const key = objectKey(ingress);
    const refs = referencesOf(ingress);
    // What the version before refers to is needed until this one is through.
    const { gained } = wanted.replace(key, [...wanted.refsOf(key), ...refs]);
    if (gained.length > 0) onGained(gained);
    const former = this.held.get(key);
    if (!refs.some((ref) => this.options.isReading(ref))) this.letThrough(key, ingress, refs);
    else
      this.held.set(key, {
        ingress,
        refs,
        cancel: former?.cancel ?? clock.after(PATIENCE_MS, () => this.release(key)),
      });
  }

  remove(key: ObjectKey): void {
    this.forget(key);
    if (this.through.delete(key)) this.options.onRemove(key);
    this.settleRefs(key, []);
  }

  /** It is known now whether this exists. */
  settled(ref: ObjectRef): void {
    for (const key of [...this.options.wanted.ownersOf(ref)]) this.tryRelease(key);
  }

  stop(): void {
    for (const { cancel } of this.held.values()) cancel();
    this.held.clear();
  }

  private tryRelease(key: ObjectKey): void {
    const held = this.held.get(key);
    if (held !== undefined && !held.refs.some((ref) => this.options.isReading(ref))) this.release(key);
  }

  private release(key: ObjectKey): void {
    const held = this.held.get(key);
    if (held !== undefined) this.letThrough(key, held.ingress, held.refs);
  }

  private letThrough(key: ObjectKey, ingress: Ingress, refs: readonly ObjectRef[]): void {
    this.forget(key);
    this.through.add(key);
    this.options.onUpsert(ingress);
    this.settleRefs(key, refs);
  }

  /** The version that waits, if any, is void. */
  private forget(key: ObjectKey): void {
    this.held.get(key)?.cancel();
    this.held.delete(key);
  }

  private settleRefs(key: ObjectKey, refs: readonly ObjectRef[]): void {
    const { lost } = this.options.wanted.replace(key, refs);
    if (lost.length > 0) this.options.onLost(lost);
  }
}
