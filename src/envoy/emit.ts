/** The model as Envoy resources: one unit per resource, so that a change encodes what it changes. */
import type { Engine, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { mirrorClusterName } from '../model/mirror.ts';
import type { ObjectKey } from '../model/object-ref.ts';
import type { ClusterName, HostName, ProxyModel, RouteAction, RoutePolicy } from '../model/proxy-model.ts';
import { SETTINGS } from '../model/settings.ts';
import { emitBackendSecrets } from './backend-secret.ts';
import { clusterMessage } from './cluster.ts';
import { emitCollector } from './collector.ts';
import { emitDiscoveredFilters } from './emit-filters.ts';
import { emitListeners, emitStreamListeners, type ListenerEmitOptions } from './emit-listeners.ts';
import { deriveResource, existing } from './emit-resource.ts';
import type { Encoder } from './encoder.ts';
import { endpointsMessage } from './endpoints.ts';
import type { Frame } from './frame.ts';
import { deriveHostFrames } from './host-frames.ts';
import type { RoutingOptions } from './http-connection-manager.ts';
import type { DnsOptions } from './resolved-name.ts';
import { type EmittedTypeUrl, type EncodedResource, encodedResource, typeUrls } from './resource.ts';
import { createRouteTable, type RouteTableContext, type RouteTableName, routeTableNames } from './route-table.ts';
import { emitOnDemandSecrets, emitQuicSecrets, emitSecrets } from './secret.ts';
import { deriveShards } from './shard.ts';
import { recommendSharding } from './shard-advice.ts';
import { createShardedTable } from './shard-tables.ts';
import { secretsOf } from './upstream-tls.ts';

export type EmitOptions = ListenerEmitOptions & DnsOptions;

export interface Emitter {
  /** Every resource, keyed by its name. Several tables may hold resources of one type; their names differ. */
  readonly resources: readonly EmittedTable[];
  readonly diagnosticTables: readonly Table<{ readonly diagnostics: readonly Diagnostic[] }>[];
  /** How often a message of each kind was encoded: `VirtualHost`, `Cluster`, … `RouteConfiguration` counts tables put together. */
  counters(): Readonly<Record<string, number>>;
}

export interface EmittedTable {
  readonly typeUrl: EmittedTypeUrl;
  readonly table: Table<EncodedResource>;
}

/**
 * Adds the units to the engine; they run in its passes. A resource that Envoy would refuse makes its unit fail with a message that
 * says why, except for a host: that answers 503 and says so in a Diagnostic.
 */
export function createEmitter(engine: Engine, model: ProxyModel, options: EmitOptions, encoder: Encoder): Emitter {
  const routes = emitRoutes(engine, model, options, encoder);
  const listeners = emitListeners(engine, model, options, encoder);
  return {
    resources: [
      { typeUrl: typeUrls.cluster, table: emitClusters(engine, model, options, encoder) },
      { typeUrl: typeUrls.cluster, table: emitCollector(engine, model, options, encoder) },
      { typeUrl: typeUrls.endpoints, table: emitEndpoints(engine, model, encoder) },
      { typeUrl: typeUrls.secret, table: emitSecrets(engine, model, listeners.chainCertificates, encoder) },
      { typeUrl: typeUrls.secret, table: emitQuicSecrets(engine, model, listeners.quicChains, encoder) },
      { typeUrl: typeUrls.secret, table: emitOnDemandSecrets(engine, model, encoder) },
      { typeUrl: typeUrls.secret, table: emitBackendSecrets(engine, model, encoder) },
      { typeUrl: typeUrls.extension, table: emitDiscoveredFilters(engine, model, encoder) },
      { typeUrl: typeUrls.listener, table: listeners.resources },
      { typeUrl: typeUrls.listener, table: listeners.quicResources },
      { typeUrl: typeUrls.listener, table: emitStreamListeners(engine, model, options, encoder) },
      ...routes.resources,
    ],
    diagnosticTables: routes.diagnosticTables,
    counters: () => encoder.counters(),
  };
}

function emitRoutes(engine: Engine, model: ProxyModel, options: RoutingOptions, encoder: Encoder) {
  const { virtualHosts, settings } = model;
  const frames = deriveHostFrames(engine, model, encoder);
  const context: RouteTableContext = {
    encoder,
    settings,
    origin: (hosts) => originOf(virtualHosts, () => true, hosts),
  };
  // What is wrong with a route of the http table is wrong with the one it was made from.
  const diagnosticTables = [frames.https];
  if (options.routeSharding) {
    return { resources: emitShards(engine, virtualHosts, frames, context), diagnosticTables };
  }
  const tables = encoder.checksOnly ? [] : routeTableNames;
  const resources = tables.map((name) => ({
    typeUrl: typeUrls.routes,
    table: createRouteTable(engine, name, frames[name], context),
  }));
  return { resources, diagnosticTables: [...diagnosticTables, recommendSharding(engine, virtualHosts)] };
}

function emitShards(
  engine: Engine,
  virtualHosts: ProxyModel['virtualHosts'],
  frames: Readonly<Record<RouteTableName, Table<Frame>>>,
  context: RouteTableContext,
): EmittedTable[] {
  const layout = deriveShards(engine, virtualHosts);
  return routeTableNames.flatMap((name) => {
    const { routes, scopes } = createShardedTable(engine, name, { frames: frames[name], layout }, context);
    return [
      { typeUrl: typeUrls.routes, table: routes },
      { typeUrl: typeUrls.scopedRoutes, table: scopes },
    ];
  });
}

function emitClusters(
  engine: Engine,
  { clusters, virtualHosts, settings }: ProxyModel,
  options: DnsOptions,
  encoder: Encoder,
) {
  // A unit of its own, so that other settings reach no cluster.
  const used = engine.derive('upstream-settings', settings, (name, read) => {
    const { upstream, tracing } = existing(read, settings, name);
    return { upstream, traces: tracing !== undefined };
  });
  return deriveResource(engine, 'cluster-resource', clusters, (name, read) => {
    const cluster = existing(read, clusters, name);
    const { upstream, traces } = existing(read, used, SETTINGS);
    const message = clusterMessage(cluster, upstream, { ...options, traces });
    const bytes = encoder.encode('envoy.config.cluster.v3.Cluster', message, name);
    const secrets = secretsOf(cluster.policy);
    return encodedResource(name, bytes, {
      ...(cluster.kind === 'endpoints' ? { endpoints: cluster.endpoints } : {}),
      ...(secrets.length > 0 && { secrets }),
      origin: () => originOf(virtualHosts, (clusters) => clusters.includes(name)),
    });
  });
}

function emitEndpoints(engine: Engine, { endpoints }: ProxyModel, encoder: Encoder) {
  return deriveResource(engine, 'endpoints-resource', endpoints, (name, read) => {
    const message = endpointsMessage(existing(read, endpoints, name));
    return encodedResource(name, encoder.encode('envoy.config.endpoint.v3.ClusterLoadAssignment', message, name));
  });
}

/** The Ingresses that made routes, or canaries of routes, to the clusters that are looked for, sorted. Reads the model as it is now. */
function originOf(
  virtualHosts: ProxyModel['virtualHosts'],
  wanted: (clusters: readonly ClusterName[]) => boolean,
  wantedHost: (host: HostName) => boolean = () => true,
): readonly ObjectKey[] {
  const ingresses = new Set<ObjectKey>();
  for (const host of virtualHosts.keys()) {
    const { aliases = [], routes = [], passthrough } = virtualHosts.get(host) ?? {};
    if (![host, ...aliases].some(wantedHost)) continue;
    if (passthrough && wanted([passthrough.cluster.name])) ingresses.add(passthrough.origin.ingress);
    for (const { origin, action, policy } of routes) {
      if (origin && wanted([...namesOf(action), ...copiesOf(policy)])) ingresses.add(origin.ingress);
      for (const canary of action.kind === 'forward' ? (action.canaries ?? []) : []) {
        if (wanted(namesOf({ kind: 'forward', ...canary }))) ingresses.add(canary.origin.ingress);
      }
    }
  }
  return [...ingresses].sort();
}

function copiesOf({ mirror }: RoutePolicy): readonly ClusterName[] {
  return mirror === undefined ? [] : [mirrorClusterName(mirror.target)];
}

function namesOf(action: RouteAction): readonly ClusterName[] {
  if (action.kind !== 'forward') return [];
  const { cluster, plainCluster } = action;
  return plainCluster === undefined ? [cluster.name] : [cluster.name, plainCluster.name];
}
