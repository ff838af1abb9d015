import {
  type envoy_config_cluster_v3_Cluster as ClusterMessage,
  envoy_config_cluster_v3_Cluster_DiscoveryType as DiscoveryType,
  envoy_extensions_clusters_common_dns_v3_DnsLookupFamily as DnsLookupFamily,
  envoy_config_core_v3_ProxyProtocolConfig_Version as ProxyProtocolVersion,
  type envoy_config_core_v3_TransportSocket as TransportSocket,
} from '../gen/messages.ts';
import type { Address, Cluster, ClusterPolicy } from '../model/proxy-model.ts';
import type { UpstreamSettings } from '../model/settings.ts';
import { ADS, socketAddress } from './config-source.ts';
import { loadBalancing } from './load-balancing.ts';
import { httpProtocolOptions } from './upstream-protocol.ts';
import { tlsToBackend } from './upstream-tls.ts';

export interface DnsOptions {
  /** Servers to ask instead of those in /etc/resolv.conf. */
  readonly dnsServers?: readonly Address[];
}

export function clusterMessage(cluster: Cluster, settings: UpstreamSettings, options: DnsOptions): ClusterMessage {
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

/** Every address that the name has counts, as with ingress-nginx; IPv6 only where there is no IPv4. */
function resolvedName(
  cluster: Extract<Cluster, { kind: 'dns' }>,
  { resolvesIpv6 }: UpstreamSettings,
  { dnsServers = [] }: DnsOptions,
) {
  const address = socketAddress(cluster.hostname, cluster.port);
  return {
    load_assignment: { cluster_name: cluster.name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
    // A server that never answers would otherwise hold up every later cluster.
    wait_for_warm_on_init: { value: false },
    cluster_type: {
      name: 'envoy.clusters.dns',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster',
        respect_dns_ttl: true,
        dns_lookup_family: resolvesIpv6 ? DnsLookupFamily.V4_PREFERRED : DnsLookupFamily.V4_ONLY,
        // Named, since Envoy's default differs between builds.
        typed_dns_resolver_config: {
          name: 'envoy.network.dns_resolver.cares',
          typed_config: {
            '@type': 'type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig',
            resolvers: dnsServers.map(({ ip, port }) => socketAddress(ip, port)),
          },
        },
      },
    },
  } satisfies Partial<ClusterMessage>;
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
