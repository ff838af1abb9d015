/** Which namespaces are watched, and which objects outside of them are read all the same. */
import { describeRef, type ObjectRef } from '../model/object-ref.ts';
import { readName } from './documents.ts';
import type { ReflectorSink } from './reflector.ts';

export interface ScopeOptions {
  /** The only one that is watched. */
  readonly namespace: string | undefined;
  /** Only namespaces that the API server has selected are watched: this object is told which those are. */
  readonly isSelective: boolean;
  /** Read wherever they are. */
  readonly named: readonly ObjectRef[];
  /** A namespace starts (or ceases) to be watched. */
  onNamespace(namespace: string, isWatched: boolean): void;
  /** All that are watched at present are known. */
  onListed(): void;
}

interface ScopedObject extends ObjectRef {
  /** Of an EndpointSlice. */
  readonly service?: string;
}

export class Scope implements ReflectorSink {
  private readonly options: ScopeOptions;
  private readonly named: ReadonlySet<string>;
  private readonly selected = new Set<string>();
  private staged = new Set<string>();

  constructor(options: ScopeOptions) {
    this.options = options;
    this.named = new Set(options.named.map(describeRef));
  }

  isWatched(namespace: string): boolean {
    if (namespace === '') return true;
    if (this.options.isSelective) return this.selected.has(namespace);
    return this.options.namespace === undefined || this.options.namespace === namespace;
  }

  /** Whether flags name it: itself, or the Service whose endpoints it holds. */
  isNamed(object: ScopedObject): boolean {
    const ref = object.kind === 'EndpointSlice' ? { ...object, kind: 'Service', name: object.service ?? '' } : object;
    return this.named.has(describeRef(ref));
  }

  includes(object: ScopedObject): boolean {
    return this.isWatched(object.namespace) || this.isNamed(object);
  }

  /** Those that no watch of everything that is watched brings. */
  namedElsewhere(): readonly ObjectRef[] {
    const { namespace, named } = this.options;
    return namespace === undefined ? [] : named.filter((ref) => ref.namespace !== namespace);
  }

  begin(): void {
    this.staged = new Set();
  }

  page(items: readonly unknown[]): void {
    for (const item of items) this.staged.add(readName(item).name);
  }

  end(): void {
    for (const namespace of [...this.selected]) if (!this.staged.has(namespace)) this.set(namespace, false);
    for (const namespace of this.staged) this.set(namespace, true);
    this.staged = new Set();
    this.options.onListed();
  }

  event(type: 'upsert' | 'delete', object: unknown): void {
    this.set(readName(object).name, type === 'upsert');
  }

  private set(namespace: string, isWatched: boolean): void {
    if (this.selected.has(namespace) === isWatched) return;
    if (isWatched) this.selected.add(namespace);
    else this.selected.delete(namespace);
    this.options.onNamespace(namespace, isWatched);
  }
}
