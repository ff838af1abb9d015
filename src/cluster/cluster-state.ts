import { deepEqual, type Engine, type Input, type Table } from '../derive.ts';
import { type ObjectKey, type ObjectRef, objectKey } from '../model/object-ref.ts';
import type { Address, EndpointsName } from '../model/proxy-model.ts';
import type { Staple } from '../model/staple.ts';
import type {
  ConfigMap,
  EndpointSlice,
  Ingress,
  IngressClass,
  KubernetesObject,
  ObjectKind,
  Secret,
  Service,
} from './objects.ts';

export type ObjectChange =
  | { readonly upsert: KubernetesObject }
  | { readonly remove: { readonly kind: ObjectKind; readonly namespace: string; readonly name: string } };

/** All watched objects: the inputs of the engine, and nothing else. Indices are groups that the build makes over them. */
export class ClusterState {
  readonly ingresses: Input<Ingress>;
  readonly ingressClasses: Input<IngressClass>;
  readonly services: Input<Service>;
  readonly endpointSlices: Input<EndpointSlice>;
  readonly secrets: Input<Secret>;
  readonly configMaps: Input<ConfigMap>;
  /**
   * Addresses on this machine that stand in for a Service port, keyed `namespace/service/port`: `always` (`--endpoint`)
   * instead of whatever the cluster says, `fallback` (`--echo`) where the cluster has no ready endpoint.
   */
  readonly localEndpoints: Input<LocalEndpoints>;
  /** Facts about the past that units may read: written after a pass, read in the next. */
  readonly memory: Input<MemoryEntry>;
  /** What OCSP responders say of certificates, by the name of the certificate; empty unless somebody asks them. */
  readonly staples: Input<Staple>;
  /** Which day it is, in days since 1970 (UTC), under the key `TODAY`; absent where nobody asks for the time. */
  readonly today: Input<number>;

  private readonly inputs: Readonly<
    Record<ObjectKind, Table<KubernetesObject> & { set(key: ObjectKey, value: undefined | never): void }>
  >;

  constructor(engine: Engine) {
    this.ingresses = engine.input<Ingress>('ingress', sameObject);
    this.ingressClasses = engine.input<IngressClass>('ingress-class', sameObject);
    this.services = engine.input<Service>('service', sameObject);
    this.endpointSlices = engine.input<EndpointSlice>('endpoint-slice', sameObject);
    this.secrets = engine.input<Secret>('secret', sameObject);
    this.configMaps = engine.input<ConfigMap>('config-map', sameObject);
    this.localEndpoints = engine.input<LocalEndpoints>('local-endpoints', deepEqual);
    this.memory = engine.input<MemoryEntry>('memory');
    this.staples = engine.input<Staple>('staple', Object.is);
    this.today = engine.input<number>('today');
    this.inputs = {
      Ingress: this.ingresses,
      IngressClass: this.ingressClasses,
      Service: this.services,
      EndpointSlice: this.endpointSlices,
      Secret: this.secrets,
      ConfigMap: this.configMaps,
    };
  }

  /** Names of the tables that hold objects, for counting. */
  get objectTables(): readonly string[] {
    return Object.values(this.inputs).map(({ name }) => name);
  }

  /** The object as of the last pass; `undefined` also for kinds that are not watched. */
  find({ kind, namespace, name }: ObjectRef): KubernetesObject | undefined {
    return this.tables.get(kind)?.get(objectKey({ namespace, name }));
  }

  /** Takes effect in the engine's next pass. Later changes of the same object win. */
  apply(changes: Iterable<ObjectChange>): void {
    for (const change of changes) {
      if ('upsert' in change) this.upsert(change.upsert);
      else this.set(change.remove.kind, objectKey(change.remove), undefined);
    }
  }

  private upsert(object: KubernetesObject): void {
    const key = objectKey(object);
    const kept = object.kind === 'Secret' ? withFormerBytes(object, this.secrets.get(key)) : object;
    this.set(object.kind, key, kept);
  }

  private get tables(): ReadonlyMap<string, Table<KubernetesObject>> {
    return new Map(Object.entries(this.inputs));
  }

  private set(kind: ObjectKind, key: ObjectKey, value: KubernetesObject | undefined): void {
    this.inputs[kind].set(key, value as never);
  }
}

export interface LocalEndpoints {
  readonly always?: readonly Address[];
  readonly fallback?: readonly Address[];
}

/** The only key of `ClusterState.today`. */
export const TODAY = 'today';

export type LocalEndpointsKey = EndpointsName;

/**
 * `certificate/namespace/name`: the last good pair of a TLS Secret. `ingress/namespace/name`: the last version of an Ingress that
 * was accepted. `config-map/namespace/name`: the last texts of protective keys that could be read, by key.
 */
export interface MemoryEntry {
  readonly value: unknown;
}

/** Equal bytes stay the same bytes, since what was made of the former Secret may be a view of them. */
function withFormerBytes(secret: Secret, former: Secret | undefined): Secret {
  if (former === undefined) return secret;
  const data = Object.entries(secret.data).map(([name, bytes]): [string, Uint8Array] => {
    const before = Object.hasOwn(former.data, name) ? former.data[name] : undefined;
    return [name, before !== undefined && Buffer.compare(before, bytes) === 0 ? before : bytes];
  });
  return { ...secret, data: Object.fromEntries(data) };
}

/** The resourceVersion and the status move without a change of what is read. */
function sameObject(a: KubernetesObject, b: KubernetesObject): boolean {
  if (a.resourceVersion !== undefined && a.resourceVersion === b.resourceVersion) return true;
  return deepEqual(withoutVersion(a), withoutVersion(b));
}

function withoutVersion(object: KubernetesObject): unknown {
  const { resourceVersion, loadBalancer, ...rest } = object as Ingress;
  return rest;
}
