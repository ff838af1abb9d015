import type { envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter } from '../../gen/messages.ts';

/** ingress-nginx: `proxy-body-size: 1m`. */
const MAX_REQUEST_BYTES = 1024 * 1024;

/** Larger request bodies are answered 413. */
export const BODY_SIZE_LIMIT: HttpFilter = {
  name: 'body-size-limit',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.body_size_limit.v3.BodySizeLimit',
    max_request_bytes: { value: MAX_REQUEST_BYTES },
  },
};
