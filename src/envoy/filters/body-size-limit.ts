import type {
  envoy_extensions_filters_http_filter_chain_v3_FilterChain as FilterChain,
  envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter,
} from '../../gen/messages.ts';

const NAME = 'body-size-limit';

/** ingress-nginx: `proxy-body-size: 1m`. */
const DEFAULT_BYTES = 1024 ** 2;

/**
 * Larger request bodies are answered 413. The filter that counts takes no settings of a route, but the chain that it stands in does:
 * so every route may have a size of its own, and no listener knows of it.
 */
export const BODY_SIZE_LIMIT: HttpFilter = {
  name: NAME,
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.filter_chain.v3.FilterChainConfig',
    default_filter_chain: limitedTo(DEFAULT_BYTES),
  },
};

/** For `typed_per_filter_config`: the size that holds for a route, in bytes; 0 for no limit. */
export function bodySizeLimit(maxBytes: number) {
  return {
    [NAME]:
      maxBytes === 0
        ? ({ '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig', disabled: true } as const)
        : ({
            '@type': 'type.googleapis.com/envoy.extensions.filters.http.filter_chain.v3.FilterChainConfigPerRoute',
            filter_chain: limitedTo(maxBytes),
          } as const),
  };
}

function limitedTo(maxBytes: number): FilterChain {
  return {
    filters: [
      {
        name: NAME,
        typed_config: {
          '@type': 'type.googleapis.com/envoy.extensions.filters.http.body_size_limit.v3.BodySizeLimit',
          max_request_bytes: { value: maxBytes },
        },
      },
    ],
  };
}
