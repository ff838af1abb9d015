import {
  type envoy_config_rbac_v3_Principal as Principal,
  envoy_config_rbac_v3_RBAC_Action as RbacAction,
  type envoy_config_route_v3_Route as RouteMessage,
} from '../../gen/messages.ts';
import type { Network, RoutePolicy } from '../../model/proxy-model.ts';
import { cidrRange } from '../config-source.ts';
import { ADDRESS_LISTS } from '../filters/address-lists.ts';
import { type ApplyPolicy, oncePer } from './policy.ts';

type Addresses = NonNullable<RoutePolicy['addresses']>;

export const applyAddresses: ApplyPolicy<Addresses> = (addresses, routes) =>
  routes.map((route) =>
    isLimited(route)
      ? {
          ...route,
          typed_per_filter_config: { ...route.typed_per_filter_config, [ADDRESS_LISTS.name]: limitOf(addresses) },
        }
      : route,
  );

const limitOf = oncePer(limitedTo);

/** Who is on the list of those who may come, and not on that of those who may not. */
function limitedTo({ allow, deny }: Addresses) {
  const principals: Principal[] = [
    ...(allow.length > 0 ? [anyOf(allow)] : []),
    ...(deny.length > 0 ? [{ not_id: anyOf(deny) }] : []),
  ];
  return {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute',
    rbac: {
      rules: {
        action: RbacAction.ALLOW,
        policies: { allowed: { permissions: [{ any: true }], principals: [{ and_ids: { ids: principals } }] } },
      },
    },
  } as const;
}

/** Not redirects, nor other answers that nginx gives before it looks at the client. */
function isLimited(route: RouteMessage): boolean {
  if ('direct_response' in route) return route.direct_response?.status === 404;
  return 'route' in route;
}

function anyOf(networks: readonly Network[]): Principal {
  return { or_ids: { ids: networks.flatMap(ranges) } };
}

/** Of IPv4 also in the form that IPv6 has for it, in which a load balancer may name a client. */
export function ranges(network: Network): Principal[] {
  const own = cidrRange(network);
  if (network.includes(':')) return [{ remote_ip: own }];
  const mapped = { address_prefix: `::ffff:${own.address_prefix}`, prefix_len: { value: 96 + own.prefix_len.value } };
  return [{ remote_ip: own }, { remote_ip: mapped }];
}
