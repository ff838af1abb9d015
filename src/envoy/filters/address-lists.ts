import type { envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter } from '../../gen/messages.ts';

/** Which clients may come, by their address. Routes say it. */
export const ADDRESS_LISTS = {
  name: 'address-lists',
  typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC' },
  disabled: true,
} as const satisfies HttpFilter;
