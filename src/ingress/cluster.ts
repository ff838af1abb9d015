import type { LocalEndpoints } from '../cluster/cluster-state.ts';
import type { Service } from '../cluster/objects.ts';
import type { Engine, Key, Reader, Table } from '../derive.ts';
import { canonicalIp } from '../ip-address.ts';
import { mirrorClusterName } from '../model/mirror.ts';
import type {
  Cluster,
  ClusterName,
  ClusterReference,
  EndpointsName,
  RouteAction,
  VirtualHost,
} from '../model/proxy-model.ts';
import { localEndpointsOf } from './endpoints.ts';
import { externalPort, type ReadExternalName } from './external-name.ts';
import { GLOBAL, type GlobalOptions } from './global-options.ts';
import { canaryEndpointsName, endpointsName, type ServicePortKey } from './names.ts';
import type { StreamService } from './stream-service.ts';

export interface ClusterSources {
  readonly globalOptions: Table<GlobalOptions>;
  readonly virtualHosts: Table<VirtualHost>;
  readonly streamServices: Table<StreamService>;
  readonly services: Table<Service>;
  readonly readExternalName: ReadExternalName;
  readonly localEndpoints: Table<LocalEndpoints>;
}

/** Unit per cluster that hosts or ports refer to. An external name that must not be resolved gives a cluster without endpoints. */
export function deriveClusters(engine: Engine, sources: ClusterSources): Table<Cluster> {
  const { services, localEndpoints, globalOptions } = sources;
  const serviceUpstream = engine.derive<boolean>(
    'service-upstream',
    [GLOBAL],
    (_, read) => read(globalOptions, GLOBAL)?.values['service-upstream'],
  );
  const ofHosts = deriveReferences(engine, 'cluster-references', sources.virtualHosts, referencesOf);
  const ofPorts = deriveReferences(engine, 'port-cluster-references', sources.streamServices, ({ wanted }) =>
    wanted === undefined ? [] : [[wanted.cluster.name, wanted.cluster]],
  );
  const ofCopies = deriveReferences(engine, 'mirror-references', sources.virtualHosts, ({ routes }) =>
    copiesOf(routes),
  );
  return engine.derive<Cluster>('cluster', [ofHosts, ofPorts, ofCopies], (name, read) => {
    const copies = read(ofCopies, name);
    if (copies !== undefined) return { kind: 'mirror', ...copies };
    const reference = read(ofHosts, name) ?? read(ofPorts, name);
    if (reference === undefined) return undefined;
    const { policy, protocol } = reference;
    const common = { name, ...(policy !== undefined && { policy }) };
    const service = read(services, `${reference.namespace}/${reference.service}`);
    const clusterIp = isAskedItself(reference, service, read(serviceUpstream, GLOBAL) ?? false);
    const servicePort = { ...reference, ...(clusterIp && { clusterIp }) };
    const endpoints: Cluster = { kind: 'endpoints', ...common, endpoints: endpointsOf(servicePort, read, services) };
    if (service?.type !== 'ExternalName') return endpoints;
    const external = sources.readExternalName(service.externalName);
    const port = externalPort(service, reference.port, protocol);
    if ('reason' in external || port === undefined) return endpoints;
    if (localEndpointsOf(read, localEndpoints, reference, service).always !== undefined) return endpoints;
    return { kind: 'dns', ...common, hostname: external.hostname, port };
  });
}

/** Of a canary with those of its primary, unless that has none that are known here. */
function endpointsOf(
  servicePort: ServicePortKey & Pick<ClusterReference, 'primary'>,
  read: Reader,
  services: Table<Service>,
): EndpointsName {
  const { primary } = servicePort;
  if (primary === undefined) return endpointsName(servicePort);
  const service = read(services, `${primary.namespace}/${primary.service}`);
  return service?.type === 'ExternalName' ? endpointsName(servicePort) : canaryEndpointsName(primary, servicePort);
}

/** Whether requests go to the address of a Service; a headless one has none. */
function isAskedItself(
  { policy, protocol }: ClusterReference,
  service: Service | undefined,
  byDefault: boolean,
): boolean {
  const isWanted = policy?.serviceUpstream ?? byDefault;
  return isWanted && protocol !== 'UDP' && canonicalIp(service?.clusterIP ?? '') !== undefined;
}

/** Every cluster with what identifies it. Who refers to it is hidden, so one more route to a known cluster moves nothing. */
function deriveReferences<V, R extends { readonly name: ClusterName }>(
  engine: Engine,
  name: string,
  from: Table<V>,
  spread: (value: V) => Iterable<readonly [ClusterName, R]>,
): Table<R> {
  return engine.reduce<V, R, Map<Key, R>, R>(name, from, {
    spread: (_, value) => spread(value),
    init: () => new Map(),
    add: (references, key, reference) => void references.set(key, reference),
    remove: (references, key) => void references.delete(key),
    empty: (references) => references.size === 0,
    view: (references) => references.values().next().value!,
    // A name stands for all that identifies a cluster.
    equal: (before, now) => before.name === now.name,
  });
}

function referencesOf({ routes, passthrough }: VirtualHost): Map<string, ClusterReference> {
  const clusters = routes.flatMap(({ action }) => clustersOf(action));
  if (passthrough !== undefined) clusters.push(passthrough.cluster);
  return new Map(clusters.map((cluster) => [cluster.name, cluster]));
}

/** Where copies of requests go. Answers of the proxy itself are copied nowhere. */
function copiesOf(routes: VirtualHost['routes']): Map<string, Pick<MirrorCluster, 'name' | 'target'>> {
  return new Map(
    routes.flatMap(({ action, policy: { mirror } }) => {
      if (action.kind !== 'forward' || mirror === undefined) return [];
      const name = mirrorClusterName(mirror.target);
      return [[name, { name, target: mirror.target }]];
    }),
  );
}

type MirrorCluster = Extract<Cluster, { kind: 'mirror' }>;

function clustersOf(action: RouteAction): readonly ClusterReference[] {
  if (action.kind !== 'forward') return [];
  return [action, ...(action.canaries ?? [])].flatMap(({ cluster, plainCluster }) =>
    plainCluster === undefined ? [cluster] : [cluster, plainCluster],
  );
}

/** The endpoints that clusters refer to. */
export function deriveEndpointsReferences(engine: Engine, clusters: Table<Cluster>): Table<ReadonlyMap<Key, true>> {
  const spread = (_: Key, cluster: Cluster): [EndpointsName, true][] =>
    cluster.kind === 'endpoints' ? [[cluster.endpoints, true]] : [];
  return engine.group('endpoints-references', clusters, spread);
}
