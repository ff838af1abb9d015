import type {
  google_protobuf_Any as Any,
  envoy_config_cluster_v3_LoadBalancingPolicy as LoadBalancingPolicy,
} from '../gen/messages.ts';
import type { HashBy } from '../model/load-balancing.ts';
import type { ClusterPolicy } from '../model/proxy-model.ts';
import type { UpstreamSettings } from '../model/settings.ts';

/** How a cluster chooses endpoints; absent for Envoy's own way, one after another. */
export function loadBalancing(
  { cookieHash, hashBy, loadBalancing: own }: ClusterPolicy,
  settings: UpstreamSettings,
): { readonly load_balancing_policy?: LoadBalancingPolicy } {
  // A session has one endpoint, whatever that has to do.
  if (cookieHash) return { load_balancing_policy: byHash() };
  if (hashBy !== undefined) return { load_balancing_policy: byHash(hashBy) };
  return (own ?? settings.loadBalancing) === 'ewma' ? { load_balancing_policy: LEAST_REQUESTS } : {};
}

/**
 * A table of so many places is shared out among the endpoints: enough for an even share of hundreds of them, and cheap to make anew with
 * each change, where Envoy's default of 65,537 is not.
 */
const TABLE_SIZE = 5_003;

/** By how many per cent an endpoint may have more to do than others before the next one is taken. */
const MUCH_MORE = 125;

function byHash({ subset }: Partial<HashBy> = {}): LoadBalancingPolicy {
  return policy('envoy.load_balancing_policies.maglev', {
    '@type': 'type.googleapis.com/envoy.extensions.load_balancing_policies.maglev.v3.Maglev',
    table_size: { value: TABLE_SIZE },
    ...(subset !== undefined && { consistent_hashing_lb_config: { hash_balance_factor: { value: MUCH_MORE } } }),
  });
}

/** Of two at random the one with fewer requests. */
const LEAST_REQUESTS = policy('envoy.load_balancing_policies.least_request', {
  '@type': 'type.googleapis.com/envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest',
});

function policy(name: string, typed_config: Any): LoadBalancingPolicy {
  return { policies: [{ typed_extension_config: { name, typed_config } }] };
}
