import type { Cluster, Endpoints, StreamListener } from '../model/proxy-model.ts';
import { serviceInLog } from '../model/stream-log-format.ts';
import type { NginxStream } from './config.ts';
import { externalAddress, socketAddress } from './upstream.ts';

/** The port of a TCP or UDP service; `undefined` where it leads to nothing. */
export function nginxStream(
  listener: StreamListener,
  cluster: Cluster,
  endpoints: Endpoints | undefined,
): NginxStream | undefined {
  const addresses = (endpoints?.addresses ?? []).map(socketAddress);
  if (cluster.kind === 'endpoints' && addresses.length === 0) return undefined;
  return {
    port: listener.port,
    protocol: listener.protocol,
    logName: serviceInLog(listener),
    acceptProxyProtocol: listener.proxyProtocol ?? false,
    sendProxyProtocol: cluster.policy?.proxyProtocol ?? false,
    addresses,
    ...(cluster.kind === 'dns' && { resolve: externalAddress(cluster) }),
  };
}
