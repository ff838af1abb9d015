/** The decoded objects of one reflector, and what changed among them. */
import { decodeObject } from '../cluster/decode.ts';
import type { KubernetesObject, ObjectKind } from '../cluster/objects.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { describeRef, type ObjectRef } from '../model/object-ref.ts';
import { readName } from './documents.ts';
import type { ReflectorSink } from './reflector.ts';
import { compareVersions } from './version.ts';

export interface ObjectStoreOptions {
  readonly kind: ObjectKind;
  /** What it says no to is not even decoded: no byte of it is kept. */
  isWanted(ref: ObjectRef): boolean;
  onUpsert(object: KubernetesObject): void;
  /** As it was last. */
  onRemove(object: KubernetesObject): void;
  /** A whole list was taken over. */
  onListed(): void;
  onDiagnostics(): void;
}

export class ObjectStore implements ReflectorSink {
  private readonly options: ObjectStoreOptions;
  /** By namespace and name. */
  private readonly held = new Map<string, Map<string, KubernetesObject>>();
  private readonly problems = new Map<string, readonly Diagnostic[]>();
  /** Objects that were read by name, present or not, with the version of that answer: newer than a list or watch that is behind. */
  private readonly readAt = new Map<string, { readonly ref: ObjectRef; readonly version: string }>();
  /** Of the list that has begun: `undefined` where the object does not decode. */
  private staged = new Map<string, { readonly ref: ObjectRef; readonly object: KubernetesObject | undefined }>();
  /** Whether a list has begun at any time, so that what becomes wanted now may be missing in it. */
  hasBegun = false;

  constructor(options: ObjectStoreOptions) {
    this.options = options;
  }

  begin(): void {
    this.hasBegun = true;
    this.staged = new Map();
  }

  page(items: readonly unknown[]): void {
    for (const item of items) {
      const ref = this.refOf(item);
      if (!this.options.isWanted(ref)) continue;
      const known = this.get(ref);
      const isKnown = known?.resourceVersion !== undefined && known.resourceVersion === versionOf(item);
      this.staged.set(describeRef(ref), { ref, object: isKnown ? known : this.decode(item, ref) });
    }
  }

  end(version: string): void {
    const { staged } = this;
    this.staged = new Map();
    const isNewer = ({ version: at }: { readonly version: string }) => compareVersions(at, version) >= 0;
    for (const [key, read] of this.readAt) if (!isNewer(read)) this.readAt.delete(key);
    for (const object of [...this.all()]) {
      const key = describeRef(object);
      if (!staged.has(key) && !this.readAt.has(key)) this.remove(object);
    }
    // Of those that never decoded.
    for (const key of this.problems.keys()) {
      if (!staged.has(key) && !this.readAt.has(key)) this.setProblems(key, []);
    }
    for (const [key, { ref, object }] of staged) {
      if (this.readAt.has(key) || !this.options.isWanted(ref)) continue;
      if (object !== undefined && object !== this.get(ref)) this.set(object);
    }
    this.options.onListed();
  }

  event(type: 'upsert' | 'delete', raw: unknown, version: string): void {
    const ref = this.refOf(raw);
    const key = describeRef(ref);
    const read = this.readAt.get(key);
    if (read !== undefined && compareVersions(version, read.version) <= 0) return;
    this.readAt.delete(key);
    if (!this.options.isWanted(ref)) return;
    this.take(ref, type === 'upsert' ? raw : undefined);
  }

  /** What a list of this one object said, at `version`; `undefined` when there is none. */
  read(ref: ObjectRef, raw: unknown, version: string): void {
    this.readAt.set(describeRef(ref), { ref, version });
    this.take(ref, raw);
  }

  get(ref: ObjectRef): KubernetesObject | undefined {
    return this.held.get(ref.namespace)?.get(ref.name);
  }

  inNamespace(namespace: string): readonly KubernetesObject[] {
    return [...(this.held.get(namespace)?.values() ?? [])];
  }

  /** It is not wanted any more. */
  drop(ref: ObjectRef): void {
    this.readAt.delete(describeRef(ref));
    this.remove(ref);
  }

  diagnostics(): readonly Diagnostic[] {
    return [...this.problems.values()].flat();
  }

  private take(ref: ObjectRef, raw: unknown): void {
    if (raw === undefined) {
      this.remove(ref);
      return;
    }
    const object = this.decode(raw, ref);
    if (object !== undefined) this.set(object);
  }

  /** An object that does not decode keeps its last good version, as in files. */
  private decode(raw: unknown, ref: ObjectRef): KubernetesObject | undefined {
    let diagnostics: readonly Diagnostic[];
    let object: KubernetesObject | undefined;
    try {
      const { objects, problems } = decodeObject(raw, { keepResourceVersion: true });
      [object] = objects;
      diagnostics = problems
        // The API server knows its fields; a newer one has more than are known here.
        .filter(({ code }) => code !== 'FieldUnknown')
        .map(({ field, ...problem }) => ({ ...problem, ref, ...(field !== '' && { field }) }));
    } catch (error) {
      const message = `${describeRef(ref)} could not be read: ${error instanceof Error ? error.message : String(error)}`;
      diagnostics = [{ severity: 'error', code: 'UnitFailed', message, ref }];
    }
    this.setProblems(describeRef(ref), diagnostics);
    return object;
  }

  private setProblems(key: string, diagnostics: readonly Diagnostic[]): void {
    if (diagnostics.length > 0) this.problems.set(key, diagnostics);
    else if (!this.problems.delete(key)) return;
    this.options.onDiagnostics();
  }

  private set(object: KubernetesObject): void {
    const namespace = this.held.get(object.namespace);
    if (namespace !== undefined) namespace.set(object.name, object);
    else this.held.set(object.namespace, new Map([[object.name, object]]));
    this.options.onUpsert(object);
  }

  private remove(ref: ObjectRef): void {
    this.setProblems(describeRef(ref), []);
    const namespace = this.held.get(ref.namespace);
    const object = namespace?.get(ref.name);
    if (namespace === undefined || object === undefined) return;
    namespace.delete(ref.name);
    if (namespace.size === 0) this.held.delete(ref.namespace);
    this.options.onRemove(object);
  }

  private *all(): Iterable<KubernetesObject> {
    for (const namespace of this.held.values()) yield* namespace.values();
  }

  private refOf(raw: unknown): ObjectRef {
    return { kind: this.options.kind, ...readName(raw) };
  }
}

function versionOf(raw: unknown): unknown {
  return (raw as { metadata?: { resourceVersion?: unknown } }).metadata?.resourceVersion;
}
