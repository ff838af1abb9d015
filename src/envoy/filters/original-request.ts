import type {
  envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter,
  envoy_config_route_v3_Route as RouteMessage,
} from '../../gen/messages.ts';
import type { ProxySettings } from '../../model/settings.ts';
import { CEL_FORMATTER, HOST_WITHOUT_PORT } from '../cel.ts';

const NAME = 'original-request';

/** What is kept of a request, each the key of an object of the filter state and what stands in it. */
const KEPT = {
  'ingress.path': '%REQ(:PATH)%',
  'ingress.authority': '%REQ(:AUTHORITY)%',
  'ingress.host': `%CEL(${HOST_WITHOUT_PORT}.lowerAscii())%`,
} as const;

/** The first name of a list, as the filter for it takes it. */
const FORWARDED = {
  'ingress.best-host':
    "%CEL('x-forwarded-host' in request.headers && request.headers['x-forwarded-host'].matches('[^ ,]') ? re.extract(request.headers['x-forwarded-host'], '^[ ,]*([^ ,]+).*$', '\\\\1') : request.host)%",
} as const;

type Kept = keyof typeof KEPT | keyof typeof FORWARDED;

/**
 * Notes path and host of a request as it came. Only the routes that change them, for a backend, do so: what logs and answers say of
 * others is in the request itself. Where requests are believed to say their host, it is changed on every route.
 */
export function originalRequest({ forwarded: { trustsHeaders } }: Pick<ProxySettings, 'forwarded'>): HttpFilter {
  return {
    name: NAME,
    ...(!trustsHeaders && { disabled: true }),
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.set_filter_state.v3.Config',
      on_request_headers: Object.entries({ ...KEPT, ...(trustsHeaders && FORWARDED) }).map(([key, value]) => ({
        object_key: key,
        factory_key: 'envoy.string',
        format_string: {
          text_format_source: { inline_string: value },
          ...(value.startsWith('%CEL(') && { formatters: [CEL_FORMATTER] }),
        },
      })),
    },
  };
}

/** The route keeps its requests as they came. */
export function keepsOriginal({
  typed_per_filter_config,
}: RouteMessage): Pick<RouteMessage, 'typed_per_filter_config'> {
  return { typed_per_filter_config: { ...typed_per_filter_config, [NAME]: ENABLED } };
}

/** Filters that are disabled run where a route has something for them, even if it says nothing. */
const ENABLED = { '@type': 'type.googleapis.com/envoy.extensions.filters.http.set_filter_state.v3.Config' } as const;

/** An expression of CEL for what was kept (bytes), or else for what is still there (a string). */
export function asItCame(key: Kept, otherwise: string): string {
  return `'${key}' in filter_state ? filter_state['${key}'] : ${otherwise}`;
}
