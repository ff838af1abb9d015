/** What a review sees of the cluster: what could matter to the Ingress in question, found without looking at the others. */
import type { ClusterState } from '../cluster/cluster-state.ts';
import type { Ingress } from '../cluster/objects.ts';
import type { Engine, Table } from '../derive.ts';
import type { Build, BuildOptions } from '../ingress/build.ts';
import { refuseClass } from '../ingress/class.ts';
import { parseBool } from '../ingress/declaration/codecs.ts';
import { contentOf } from '../ingress/declaration/content.ts';
import { parseHost, wildcardOf } from '../ingress/host.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectKey } from '../model/object-ref.ts';
import { DEFAULT_HOST, type HostName, type ProxyModel } from '../model/proxy-model.ts';

export interface AdmissionWorld {
  /** As of the last pass. */
  readonly state: ClusterState;
  /** Which Ingresses speak about a host, also those that are not served. */
  readonly ingressesByHost: Table<ReadonlyMap<ObjectKey, true>>;
  readonly servedIngresses: Build['servedIngresses'];
  readonly options: BuildOptions;
  /** Whether the namespace is one of those that are watched. */
  readonly watches: (namespace: string) => boolean;
  /** Adds the proxy's own checks to an engine; absent: there are none. */
  readonly emit?: (engine: Engine, model: ProxyModel) => Emitted;
}

/** The part of an emitter that a review looks at. */
export interface Emitted {
  readonly diagnosticTables: readonly Table<{ readonly diagnostics: readonly Diagnostic[] }>[];
  readonly resources: readonly { readonly table: Table<{ bytes(): Uint8Array }> }[];
}

/** Makes the index of `AdmissionWorld`; it is there after the engine's next pass. */
export function indexIngressesByHost(engine: Engine, { ingresses }: ClusterState): AdmissionWorld['ingressesByHost'] {
  return engine.group<Ingress>('ingresses-by-written-host', ingresses, (_, ingress) =>
    [...hostsOf(ingress)].map((host): [HostName, true] => [host, true]),
  );
}

/** The hosts that an Ingress speaks about, served or not, each once. */
export function hostsOf({ rules, defaultBackend }: Ingress): Set<HostName> {
  const hosts = new Set<HostName>();
  for (const rule of rules) {
    const parsed = parseHost(rule.host);
    if ('host' in parsed) hosts.add(parsed.host);
  }
  if (rules.length === 0 && defaultBackend !== undefined) hosts.add(DEFAULT_HOST);
  return hosts;
}

/** The hosts whose Ingresses decide about those of this one: they themselves, and the wildcards that cover them. */
export function relatedHosts(ingress: Ingress): Set<HostName> {
  const hosts = hostsOf(ingress);
  for (const host of [...hosts]) {
    const wildcard = wildcardOf(host);
    if (wildcard !== undefined) hosts.add(wildcard);
  }
  return hosts;
}

/** Other Ingresses of our class that speak about one of the hosts, in order of age. */
export function neighboursOn(hosts: ReadonlySet<HostName>, ingress: Ingress, world: AdmissionWorld): Ingress[] {
  const keys = new Set<ObjectKey>();
  for (const host of hosts) for (const key of world.ingressesByHost.get(host)?.keys() ?? []) keys.add(key);
  keys.delete(objectKey(ingress));
  return [...keys]
    .flatMap((key) => world.state.ingresses.get(key) ?? [])
    .filter((neighbour) => isOurs(neighbour, world))
    .toSorted(compareAge);
}

/** Whether the Ingress is of a class that is served here. */
export function isOurs(ingress: Ingress, { state, options }: AdmissionWorld): boolean {
  const { ingressClasses } = state;
  const classes = { get: (name: string) => ingressClasses.get(name), anyExists: () => ingressClasses.size > 0 };
  return refuseClass(ingress, classes, options) === undefined;
}

export type Canary = 'absent' | 'on' | 'off';

/** What an Ingress says about being a canary; a value that is no boolean counts as `off`. */
export function canaryOf({ annotations }: Ingress, prefix: string): Canary {
  const content = contentOf(annotations, `${prefix}/canary`);
  if (content === undefined) return 'absent';
  return parseBool(content) === true ? 'on' : 'off';
}

/** As `compareAge` of the build: the older first; of equal age, in reverse order of their names. */
function compareAge(a: Ingress, b: Ingress): number {
  return a.creationTimestamp - b.creationTimestamp || (objectKey(a) < objectKey(b) ? 1 : -1);
}
