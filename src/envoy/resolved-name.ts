import {
  type envoy_config_cluster_v3_Cluster as ClusterMessage,
  envoy_extensions_clusters_common_dns_v3_DnsLookupFamily as DnsLookupFamily,
} from '../gen/messages.ts';
import type { Address } from '../model/proxy-model.ts';
import type { UpstreamSettings } from '../model/settings.ts';
import { socketAddress } from './config-source.ts';

export interface DnsOptions {
  /** Servers to ask instead of those in /etc/resolv.conf. */
  readonly dnsServers?: readonly Address[];
}

/** Every address that the name has counts, as with ingress-nginx; IPv6 only where there is no IPv4. */
export function resolvedName(
  { name, hostname, port }: { readonly name: string; readonly hostname: string; readonly port: number },
  { resolvesIpv6 }: Pick<UpstreamSettings, 'resolvesIpv6'>,
  { dnsServers = [] }: DnsOptions,
) {
  const address = socketAddress(hostname, port);
  return {
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
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
