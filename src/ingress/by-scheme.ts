import type { ClusterReference } from '../model/proxy-model.ts';
import { withPolicy } from './names.ts';

/** `AUTO_HTTP`: backends are spoken to as clients speak to the proxy, so there is a cluster for those with TLS and one for the others. */
export function byScheme(cluster: ClusterReference): {
  readonly cluster: ClusterReference;
  readonly plainCluster?: ClusterReference;
} {
  const { policy = {} } = cluster;
  if (policy.backendProtocol !== 'AUTO_HTTP') return { cluster };
  const { backendProtocol: _, backendTls: __, ...plain } = policy;
  return {
    cluster: withPolicy(cluster, { ...policy, backendProtocol: 'HTTPS' }),
    plainCluster: withPolicy(cluster, plain),
  };
}
