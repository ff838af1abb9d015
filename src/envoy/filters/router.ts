import type { envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter } from '../../gen/messages.ts';

/** Sends the request on. Neither clients nor backends see headers of Envoy's own. */
export const ROUTER: HttpFilter = {
  name: 'router',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router',
    suppress_envoy_headers: true,
  },
};
