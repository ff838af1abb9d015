/** The discovery services that are served. Data, so that it can be read at once. */
import { typeUrls } from './resource.ts';
import { deltaVariant, sotwVariant, type Variant } from './variant.ts';

/** A bidirectional stream of discovery requests and responses. */
export interface DiscoveryMethod {
  readonly service: string;
  readonly method: string;
  readonly variant: Variant;
  /** The only type that is served; absent: every type on one stream. */
  readonly onlyType?: string;
}

interface DiscoveryService {
  readonly service: string;
  readonly stateOfTheWorld: string;
  readonly delta: string;
  readonly onlyType?: string;
}

/** Only the first keeps an order among types: streams of single types know nothing of each other. */
const services: readonly DiscoveryService[] = [
  {
    service: 'envoy.service.discovery.v3.AggregatedDiscoveryService',
    stateOfTheWorld: 'StreamAggregatedResources',
    delta: 'DeltaAggregatedResources',
  },
  {
    service: 'envoy.service.cluster.v3.ClusterDiscoveryService',
    stateOfTheWorld: 'StreamClusters',
    delta: 'DeltaClusters',
    onlyType: typeUrls.cluster,
  },
  {
    service: 'envoy.service.endpoint.v3.EndpointDiscoveryService',
    stateOfTheWorld: 'StreamEndpoints',
    delta: 'DeltaEndpoints',
    onlyType: typeUrls.endpoints,
  },
  {
    service: 'envoy.service.listener.v3.ListenerDiscoveryService',
    stateOfTheWorld: 'StreamListeners',
    delta: 'DeltaListeners',
    onlyType: typeUrls.listener,
  },
  {
    service: 'envoy.service.route.v3.RouteDiscoveryService',
    stateOfTheWorld: 'StreamRoutes',
    delta: 'DeltaRoutes',
    onlyType: typeUrls.routes,
  },
  {
    service: 'envoy.service.route.v3.ScopedRoutesDiscoveryService',
    stateOfTheWorld: 'StreamScopedRoutes',
    delta: 'DeltaScopedRoutes',
    onlyType: typeUrls.scopedRoutes,
  },
  {
    service: 'envoy.service.secret.v3.SecretDiscoveryService',
    stateOfTheWorld: 'StreamSecrets',
    delta: 'DeltaSecrets',
    onlyType: typeUrls.secret,
  },
  {
    service: 'envoy.service.extension.v3.ExtensionConfigDiscoveryService',
    stateOfTheWorld: 'StreamExtensionConfigs',
    delta: 'DeltaExtensionConfigs',
    onlyType: typeUrls.extension,
  },
];

export const discoveryMethods: readonly DiscoveryMethod[] = services.flatMap(
  ({ stateOfTheWorld, delta, ...service }) => [
    { ...service, method: stateOfTheWorld, variant: sotwVariant },
    { ...service, method: delta, variant: deltaVariant },
  ],
);
