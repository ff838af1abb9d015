/** Which Secrets and ConfigMaps somebody refers to, and who. */
import { describeRef, type ObjectRef } from '../model/object-ref.ts';

/** `Secret shop/tls` */
export type RefKey = string;

/** Whoever refers to something: `Ingress shop/web`. */
export type Owner = string;

export class Wanted {
  private readonly byOwner = new Map<Owner, ReadonlyMap<RefKey, ObjectRef>>();
  private readonly owners = new Map<RefKey, Set<Owner>>();
  private readonly byNamespace = new Map<string, Map<RefKey, ObjectRef>>();

  /** From now on `owner` refers to exactly these. Returns what nobody referred to before, and what nobody refers to any more. */
  replace(owner: Owner, refs: readonly ObjectRef[]): { readonly gained: ObjectRef[]; readonly lost: ObjectRef[] } {
    const before = this.byOwner.get(owner);
    const now = new Map(refs.map((ref) => [describeRef(ref), ref]));
    const gained = [...now].filter(([key, ref]) => !before?.has(key) && this.add(key, ref, owner));
    const lost = [...(before ?? [])].filter(([key, ref]) => !now.has(key) && this.remove(key, ref, owner));
    if (now.size > 0) this.byOwner.set(owner, now);
    else this.byOwner.delete(owner);
    return { gained: gained.map(([, ref]) => ref), lost: lost.map(([, ref]) => ref) };
  }

  has(ref: ObjectRef): boolean {
    return this.owners.has(describeRef(ref));
  }

  ownersOf(ref: ObjectRef): Iterable<Owner> {
    return this.owners.get(describeRef(ref)) ?? [];
  }

  isOwner(owner: Owner, ref: ObjectRef): boolean {
    return this.byOwner.get(owner)?.has(describeRef(ref)) ?? false;
  }

  /** What `owner` refers to. */
  refsOf(owner: Owner): readonly ObjectRef[] {
    return [...(this.byOwner.get(owner)?.values() ?? [])];
  }

  /** Everything in that namespace that somebody refers to. */
  inNamespace(namespace: string): readonly ObjectRef[] {
    return [...(this.byNamespace.get(namespace)?.values() ?? [])];
  }

  /** Whether `owner` is the first. */
  private add(key: RefKey, ref: ObjectRef, owner: Owner): boolean {
    const owners = this.owners.get(key);
    if (owners !== undefined) {
      owners.add(owner);
      return false;
    }
    this.owners.set(key, new Set([owner]));
    const namespace = this.byNamespace.get(ref.namespace);
    if (namespace !== undefined) namespace.set(key, ref);
    else this.byNamespace.set(ref.namespace, new Map([[key, ref]]));
    return true;
  }

  /** Whether `owner` was the last. */
  private remove(key: RefKey, ref: ObjectRef, owner: Owner): boolean {
    const owners = this.owners.get(key);
    owners?.delete(owner);
    if (owners === undefined || owners.size > 0) return false;
    this.owners.delete(key);
    const namespace = this.byNamespace.get(ref.namespace);
    namespace?.delete(key);
    if (namespace?.size === 0) this.byNamespace.delete(ref.namespace);
    return true;
  }
}
