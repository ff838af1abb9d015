import type { envoy_config_listener_v3_FilterChain as FilterChain } from '../gen/messages.ts';
import type { StreamSettings } from '../model/connection-settings.ts';
import type { ClusterName } from '../model/proxy-model.ts';
import type { StreamLogFormat } from '../model/stream-log-format.ts';
import { tcpProxy } from './stream-listener.ts';

/** What all such chains have in common: they are treated like connections of TCP services. */
export interface PassthroughParts {
  readonly settings: StreamSettings;
  /** Of the lines that are written; absent: none. */
  readonly log?: StreamLogFormat;
  readonly proxyProtocol: boolean;
}

/**
 * The chain for TLS that a cluster ends itself, named like the cluster: which names lead there, and how many, moves none of its bytes.
 * Without endpoints connections are closed.
 */
export function passthroughChain(cluster: ClusterName, parts: PassthroughParts): FilterChain {
  const { settings, proxyProtocol, ...logging } = parts;
  const connections = {
    name: 'passthrough',
    protocol: 'tcp',
    cluster,
    ...(proxyProtocol && { proxyProtocol }),
  } as const;
  return { name: cluster, filters: [tcpProxy(connections, settings, logging)] };
}
