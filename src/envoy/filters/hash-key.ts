import type { envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter } from '../../gen/messages.ts';

/** Notes the key of a request by which an endpoint is chosen. Routes say what it is. */
export const HASH_KEY = {
  name: 'hash-key',
  typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.set_filter_state.v3.Config' },
  disabled: true,
} as const satisfies HttpFilter;
