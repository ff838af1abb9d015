import type { LocalEndpoints } from '../cluster/cluster-state.ts';
import type { Service } from '../cluster/objects.ts';
import type { Engine, Key, Table } from '../derive.ts';
import type { Cluster, ClusterReference, EndpointsName, VirtualHost } from '../model/proxy-model.ts';
import { localEndpointsOf } from './endpoints.ts';
import { externalPort, type ReadExternalName } from './external-name.ts';
import { endpointsName } from './names.ts';

export interface ClusterSources {
  readonly virtualHosts: Table<VirtualHost>;
  readonly services: Table<Service>;
  readonly readExternalName: ReadExternalName;
  readonly localEndpoints: Table<LocalEndpoints>;
}

/** Unit per cluster that routes refer to. An external name that must not be resolved gives a cluster without endpoints. */
export function deriveClusters(engine: Engine, sources: ClusterSources): Table<Cluster> {
  const { services, localEndpoints } = sources;
  const references = deriveReferences(engine, sources.virtualHosts);
  return engine.derive<Cluster>('cluster', references, (name, read) => {
    const reference = read(references, name);
    if (reference === undefined) return undefined;
    const service = read(services, `${reference.namespace}/${reference.service}`);
    const endpoints = { kind: 'endpoints', name, endpoints: endpointsName(reference) } as const;
    if (service?.type !== 'ExternalName') return endpoints;
    const external = sources.readExternalName(service.externalName);
    const port = externalPort(service, reference.port);
    if ('reason' in external || port === undefined) return endpoints;
    if (localEndpointsOf(read, localEndpoints, reference, service).always !== undefined) return endpoints;
    return { kind: 'dns', name, hostname: external.hostname, port };
  });
}

/** Every cluster with what identifies it. Who refers to it is hidden, so one more route to a known cluster moves nothing. */
function deriveReferences(engine: Engine, virtualHosts: Table<VirtualHost>): Table<ClusterReference> {
  return engine.reduce<VirtualHost, ClusterReference, Map<Key, ClusterReference>, ClusterReference>(
    'cluster-references',
    virtualHosts,
    {
      spread: (_, { routes }) => referencesOf(routes),
      init: () => new Map(),
      add: (references, host, reference) => void references.set(host, reference),
      remove: (references, host) => void references.delete(host),
      empty: (references) => references.size === 0,
      view: (references) => references.values().next().value!,
      // A name stands for all that identifies a cluster.
      equal: (before, now) => before.name === now.name,
    },
  );
}

function referencesOf(routes: VirtualHost['routes']): Map<string, ClusterReference> {
  const clusters = routes.flatMap(({ action }) => (action.kind === 'forward' ? [action.cluster] : []));
  return new Map(clusters.map((cluster) => [cluster.name, cluster]));
}

/** The endpoints that clusters refer to. */
export function deriveEndpointsReferences(engine: Engine, clusters: Table<Cluster>): Table<ReadonlyMap<Key, true>> {
  const spread = (_: Key, cluster: Cluster): [EndpointsName, true][] =>
    cluster.kind === 'endpoints' ? [[cluster.endpoints, true]] : [];
  return engine.group('endpoints-references', clusters, spread);
}
