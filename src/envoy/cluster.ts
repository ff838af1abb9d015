import {
  type envoy_config_cluster_v3_Cluster as ClusterMessage,
  envoy_config_cluster_v3_Cluster_DiscoveryType as DiscoveryType,
  envoy_config_core_v3_ProxyProtocolConfig_Version as ProxyProtocolVersion,
  type envoy_config_core_v3_TransportSocket as TransportSocket,
} from '../gen/messages.ts';
import type { Cluster, ClusterPolicy } from '../model/proxy-model.ts';
import type { UpstreamSettings } from '../model/settings.ts';
import { ADS } from './config-source.ts';
import { loadBalancing } from './load-balancing.ts';
import { type ClusterOptions, mirrorClusterMessage } from './mirror-cluster.ts';
import { resolvedName } from './resolved-name.ts';
import { httpProtocolOptions } from './upstream-protocol.ts';
import { tlsToBackend } from './upstream-tls.ts';

export function clusterMessage(cluster: Cluster, settings: UpstreamSettings, options: ClusterOptions): ClusterMessage {
  if (cluster.kind === 'mirror') return mirrorClusterMessage(cluster, settings, options);
  const { name, policy } = cluster;
  const where =
    cluster.kind === 'endpoints' ? discoveredEndpoints(cluster.endpoints) : resolvedName(cluster, settings, options);
  return {
    name,
    ...where,
    ...UPSTREAM,
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': httpProtocolOptions(policy ?? {}, settings),
    },
    connect_timeout: { seconds: policy?.connectTimeoutSeconds ?? settings.connectTimeoutSeconds },
    ...transportSocket(policy),
    ...loadBalancing(policy ?? {}, settings),
  };
}

function transportSocket(policy: ClusterPolicy = {}): { readonly transport_socket?: TransportSocket } {
  if (policy.proxyProtocol) return { transport_socket: PROXY_PROTOCOL };
  const tls = tlsToBackend(policy);
  return tls === undefined ? {} : { transport_socket: tls };
}

/** In the version that nginx sends. */
const PROXY_PROTOCOL: TransportSocket = {
  name: 'envoy.transport_sockets.upstream_proxy_protocol',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.proxy_protocol.v3.ProxyProtocolUpstreamTransport',
    config: { version: ProxyProtocolVersion.V1 },
    transport_socket: {
      name: 'envoy.transport_sockets.raw_buffer',
      typed_config: { '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer' },
    },
  },
};

function discoveredEndpoints(endpoints: string) {
  return { type: DiscoveryType.EDS, eds_cluster_config: { eds_config: ADS, service_name: endpoints } };
}

const OUT_OF_THE_WAY = { value: 1_000_000 };

/** ingress-nginx's defaults for connections to backends, and nothing that nginx does not do: no limits, no ejection, no panic. */
const UPSTREAM = {
  per_connection_buffer_limit_bytes: { value: 32 * 1024 },
  circuit_breakers: {
    thresholds: [
      {
        max_connections: OUT_OF_THE_WAY,
        max_pending_requests: OUT_OF_THE_WAY,
        max_requests: OUT_OF_THE_WAY,
        max_retries: OUT_OF_THE_WAY,
      },
    ],
  },
  common_lb_config: { healthy_panic_threshold: { value: 0 } },
  ignore_health_on_host_removal: true,
} satisfies Partial<ClusterMessage>;
