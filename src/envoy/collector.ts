import type { Engine } from '../derive.ts';
import type { envoy_config_cluster_v3_Cluster as ClusterMessage } from '../gen/messages.ts';
import type { ProxyModel } from '../model/proxy-model.ts';
import { SETTINGS } from '../model/settings.ts';
import type { Collector } from '../model/tracing.ts';
import { deriveResource, existing } from './emit-resource.ts';
import type { Encoder } from './encoder.ts';
import { type DnsOptions, resolvedName } from './resolved-name.ts';
import { encodedResource } from './resource.ts';

/** No Service has such a name. */
export const COLLECTOR_CLUSTER = 'otlp-collector';

/** A cluster while there is a collector: another address of it reaches no connection of a client. */
export function emitCollector(engine: Engine, { settings }: ProxyModel, options: DnsOptions, encoder: Encoder) {
  const collectors = engine.derive<Target>('collector', [COLLECTOR_CLUSTER], (_, read) => {
    const { tracing, upstream } = existing(read, settings, SETTINGS);
    return tracing && { ...tracing.collector, resolvesIpv6: upstream.resolvesIpv6 };
  });
  return deriveResource(engine, 'collector-resource', collectors, (name, read) => {
    const message = collectorCluster(existing(read, collectors, name), options);
    return encodedResource(name, encoder.encode('envoy.config.cluster.v3.Cluster', message, name));
  });
}

type Target = Collector & { readonly resolvesIpv6: boolean };

function collectorCluster({ host, port, resolvesIpv6 }: Target, options: DnsOptions): ClusterMessage {
  return {
    name: COLLECTOR_CLUSTER,
    ...resolvedName({ name: COLLECTOR_CLUSTER, hostname: host, port }, { resolvesIpv6 }, options),
    connect_timeout: { seconds: 5 },
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
        '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
        explicit_http_config: { http2_protocol_options: { connection_keepalive: KEEPALIVE } },
      },
    },
    // Each holds up to some hundred spans in memory: while the collector is slow, more are lost rather than kept.
    circuit_breakers: { thresholds: [{ max_requests: { value: 32 }, max_pending_requests: { value: 32 } }] },
  };
}

/** Finds a collector whose machine has gone without a word. */
const KEEPALIVE = { interval: { seconds: 30 }, timeout: { seconds: 10 } };
