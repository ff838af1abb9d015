/** The committed snapshot: what every stream serves from. Knows names, versions and bytes; knows nothing of streams. */
import { hash } from 'node:crypto';
import type { XdsObserver } from './observer.ts';
import type { Resource, ResourceChange } from './resource.ts';

export interface Commit {
  /** Counts from 1; a later commit has a larger one. */
  readonly seq: number;
  readonly types: ReadonlyMap<string, TypeChange>;
}

/** Names of one type: with a new version, and gone. */
export interface TypeChange {
  readonly changed: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
}

/** A resource of the snapshot. Its bytes are asked for once, for all streams together, unless it is transient. */
export interface StoredResource {
  readonly name: string;
  readonly version: string;
  readonly endpoints: string | undefined;
  readonly secrets: readonly string[];
  readonly routes: string | undefined;
  readonly cluster: string | undefined;
  /** Whether it leads to clusters without routes. */
  readonly leadsToClusters: boolean;
  /** As in `Resource`. */
  readonly namespace: string | undefined;
  body(): Uint8Array;
  /** Keys of the Ingresses that made it. */
  origin(): readonly string[];
  /** The same under another spelling of its name; `undefined` for what has one spelling only. */
  as(spelling: string): StoredResource | undefined;
}

/** The resources of one type. */
export interface TypeSnapshot {
  get(name: string): StoredResource | undefined;
  names(): Iterable<string>;
}

class Entry implements StoredResource {
  resource: Resource;
  private readonly typeUrl: string;
  private readonly observe: XdsObserver;
  private bytes: Uint8Array | undefined;
  private asked = false;

  constructor(typeUrl: string, resource: Resource, observe: XdsObserver) {
    this.typeUrl = typeUrl;
    this.resource = resource;
    this.observe = observe;
  }

  get name(): string {
    return this.resource.name;
  }

  get version(): string {
    return this.resource.version;
  }

  get endpoints(): string | undefined {
    return this.resource.endpoints;
  }

  get secrets(): readonly string[] {
    return this.resource.secrets ?? [];
  }

  get routes(): string | undefined {
    return this.resource.routes;
  }

  get cluster(): string | undefined {
    return this.resource.cluster;
  }

  get leadsToClusters(): boolean {
    return this.resource.leadsToClusters ?? this.cluster !== undefined;
  }

  get namespace(): string | undefined {
    return this.resource.namespace;
  }

  body(): Uint8Array {
    if (this.resource.bytesAs !== undefined) return this.resource.bytes();
    if (this.bytes !== undefined) return this.bytes;
    const bytes = this.resource.bytes();
    if (!this.asked) this.observe({ kind: 'encoded', typeUrl: this.typeUrl, name: this.name, bytes: bytes.length });
    this.asked = true;
    if (this.resource.transient === undefined) this.bytes = bytes;
    return bytes;
  }

  origin(): readonly string[] {
    const { origin } = this.resource;
    return typeof origin === 'function' ? origin() : origin;
  }

  as(spelling: string): StoredResource | undefined {
    const { resource } = this;
    if (resource.bytesAs === undefined) return undefined;
    return {
      name: spelling,
      version: resource.version,
      endpoints: undefined,
      secrets: [],
      routes: undefined,
      cluster: undefined,
      leadsToClusters: false,
      namespace: resource.namespace,
      body: () => resource.bytesAs?.(spelling) ?? resource.bytes(),
      origin: () => this.origin(),
      as: (other) => this.as(other),
    };
  }
}

interface Type {
  readonly entries: Map<string, Entry>;
  /** Sum over all entries, modulo 2⁶⁴: independent of order, kept in O(changed). */
  versionSum: bigint;
}

export class SnapshotStore {
  private readonly types = new Map<string, Type>();
  private readonly listeners = new Set<(commit: Commit) => void>();
  private readonly observe: XdsObserver;
  private lastSeq = 0;

  constructor(observe: XdsObserver = () => {}) {
    this.observe = observe;
  }

  /** Number of the last commit; 0 before the first. */
  get seq(): number {
    return this.lastSeq;
  }

  /** Whether anything was committed. Before that nothing is answered: an empty answer would delete what a proxy runs. */
  get ready(): boolean {
    return this.lastSeq > 0;
  }

  /**
   * Makes all changes visible at once. A resource whose version is as before is no change (its origin is taken over).
   * @returns `undefined` when nothing changed; the first commit always counts, be it empty.
   */
  commit(changes: readonly ResourceChange[]): Commit | undefined {
    const types = new Map<string, { changed: Set<string>; removed: Set<string> }>();
    for (const { typeUrl, name, resource } of changes) {
      if (resource !== undefined && resource.name !== name) {
        throw new Error(`resource ${resource.name} of ${typeUrl} is committed under the name ${name}`);
      }
      if (!this.put(typeUrl, name, resource)) continue;
      const type = types.get(typeUrl) ?? { changed: new Set(), removed: new Set() };
      types.set(typeUrl, type);
      (resource === undefined ? type.removed : type.changed).add(name);
      (resource === undefined ? type.changed : type.removed).delete(name);
    }
    if (types.size === 0 && this.ready) return undefined;
    const commit: Commit = { seq: ++this.lastSeq, types };
    for (const listener of this.listeners) listener(commit);
    return commit;
  }

  get(typeUrl: string, name: string): StoredResource | undefined {
    return this.types.get(typeUrl)?.entries.get(name);
  }

  names(typeUrl: string): Iterable<string> {
    return this.types.get(typeUrl)?.entries.keys() ?? [];
  }

  /** A live view of one type; also of types that have no resources (yet). */
  view(typeUrl: string): TypeSnapshot {
    return { get: (name) => this.get(typeUrl, name), names: () => this.names(typeUrl) };
  }

  typeUrls(): Iterable<string> {
    return this.types.keys();
  }

  /** Number of resources of a type. */
  size(typeUrl: string): number {
    return this.types.get(typeUrl)?.entries.size ?? 0;
  }

  /** A label for the whole content of a type: equal content, equal label, on every replica and after a restart. */
  systemVersion(typeUrl: string): string {
    return (this.types.get(typeUrl)?.versionSum ?? 0n).toString(16).padStart(16, '0');
  }

  /** Calls back after each commit; the returned function ends it. */
  subscribe(listener: (commit: Commit) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private addType(typeUrl: string): Type {
    const type: Type = { entries: new Map(), versionSum: 0n };
    this.types.set(typeUrl, type);
    return type;
  }

  private put(typeUrl: string, name: string, resource: Resource | undefined): boolean {
    const type = this.types.get(typeUrl) ?? this.addType(typeUrl);
    const former = type.entries.get(name);
    if (former?.version === resource?.version) {
      if (former !== undefined && resource !== undefined) former.resource = resource;
      return false;
    }
    const sum = type.versionSum - versionHash(former) + versionHash(resource);
    type.versionSum = BigInt.asUintN(64, sum);
    if (resource === undefined) type.entries.delete(name);
    else type.entries.set(name, new Entry(typeUrl, resource, this.observe));
    return true;
  }
}

function versionHash(resource: { readonly name: string; readonly version: string } | undefined): bigint {
  if (resource === undefined) return 0n;
  // As text and back: a buffer for each costs twice as much.
  return BigInt(`0x${hash('sha256', `${resource.name}\0${resource.version}`).slice(0, 16)}`);
}
