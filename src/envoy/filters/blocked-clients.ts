import type { envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter } from '../../gen/messages.ts';

/** Which requests are refused on every host. The route tables say it, so that a change reaches no connection. */
export const BLOCKED_CLIENTS = {
  name: 'blocked-clients',
  typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC' },
  disabled: true,
} as const satisfies HttpFilter;
