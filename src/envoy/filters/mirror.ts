import type { envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter } from '../../gen/messages.ts';

/** Notes what a copy of the request asks for, while the request is as it came. Routes say what it is. */
export const MIRROR = {
  name: 'mirror',
  typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.set_filter_state.v3.Config' },
  disabled: true,
} as const satisfies HttpFilter;
