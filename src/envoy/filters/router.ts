import type { envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter } from '../../gen/messages.ts';
import type { ProxySettings } from '../../model/settings.ts';
import { TRACE_CONTEXT } from './trace-context.ts';

/** Sends the request on. Neither clients nor backends see headers of Envoy's own. */
export function router({ tracing }: ProxySettings): HttpFilter {
  return {
    name: 'router',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router',
      suppress_envoy_headers: true,
      ...(tracing && { upstream_http_filters: [TRACE_CONTEXT, UPSTREAM_CODEC] }),
    },
  };
}

/** The last of the filters between the router and a backend. */
const UPSTREAM_CODEC: HttpFilter = {
  name: 'upstream-codec',
  typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec' },
};
