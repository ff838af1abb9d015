import {
  type envoy_config_rbac_v3_Principal as Principal,
  envoy_config_rbac_v3_RBAC_Action as RbacAction,
  type envoy_config_route_v3_RouteConfiguration as RouteConfiguration,
} from '../../gen/messages.ts';
import type { BlockedClients, TextPattern } from '../../model/settings.ts';
import { BLOCKED_CLIENTS } from '../filters/blocked-clients.ts';
import { stringMatcher } from '../match.ts';
import { ranges } from './addresses.ts';

/** Carries the `Referer` as the client sent it, where somebody is blocked by it. No backend sees it. */
export const SENT_REFERER = 'x-ingress-xds-referer';

type FilterConfigs = RouteConfiguration['typed_per_filter_config'];

/** What a route table says for all of its routes, those that answer by themselves included; absent where nobody is blocked. */
export function blockClients({ networks, userAgents, referers }: BlockedClients): FilterConfigs {
  const principals: Principal[] = [
    ...networks.flatMap(ranges),
    ...userAgents.map((pattern) => header('user-agent', pattern)),
    ...referers.map((pattern) => header(SENT_REFERER, pattern)),
  ];
  if (principals.length === 0) return undefined;
  return {
    [BLOCKED_CLIENTS.name]: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute',
      rbac: {
        rules: { action: RbacAction.DENY, policies: { blocked: { permissions: [{ any: true }], principals } } },
      },
    },
  };
}

function header(name: string, pattern: TextPattern): Principal {
  return { header: { name, string_match: stringMatcher(pattern) } };
}
