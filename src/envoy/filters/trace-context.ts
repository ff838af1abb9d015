/**
 * What a client says of a trace, and the id that it gave its request, around the span that Envoy begins before it knows the route.
 *
 * Envoy begins a span for every request, tells every backend of it, and samples it by the id of the request, which must look like
 * one of its own. So both are taken away before, and brought back after: the id at once, for filters, logs and backends; the trace
 * on its way to the backend, unless its route is traced.
 */
import type {
  envoy_config_common_mutation_rules_v3_HeaderMutation as HeaderMutation,
  envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter,
} from '../../gen/messages.ts';
import type { ProxySettings } from '../../model/settings.ts';
import type { TracingSettings } from '../../model/tracing.ts';
import { overwrite } from '../headers.ts';

const TRACE_HEADERS = ['traceparent', 'tracestate'] as const;
const REQUEST_ID = 'x-request-id';
const HELD_HEADERS = [REQUEST_ID, ...TRACE_HEADERS] as const;

/** Where a header is held until filters see the request. No client can send it: headers of Envoy's own are removed before. */
function held(header: string): string {
  return `x-envoy-client-${header}`;
}

const SENT_TRACEPARENT = `request.headers['${held('traceparent')}']`;

/**
 * What Envoy cannot read would keep the request from being traced. Its length and ids that are zero are all that can be looked at
 * cheaply: Envoy compiles regular expressions for each request.
 */
const READABLE_TRACEPARENT =
  `%CEL(size(${SENT_TRACEPARENT}) == 55 && !${SENT_TRACEPARENT}.contains('-${'0'.repeat(32)}-') && ` +
  `!${SENT_TRACEPARENT}.contains('-${'0'.repeat(16)}-') ? ${SENT_TRACEPARENT} : '')%`;

/** Before the span begins. */
export function holdTrace({ trustsContext }: TracingSettings): readonly HeaderMutation[] {
  return [
    ...HELD_HEADERS.flatMap((header): HeaderMutation[] => [
      { append: overwrite(held(header), `%REQ(${header})%`) },
      { remove: header },
    ]),
    ...(trustsContext
      ? [
          { append: overwrite('traceparent', READABLE_TRACEPARENT) },
          { append: overwrite('tracestate', `%REQ(${held('tracestate')})%`) },
        ]
      : []),
  ];
}

/** The first filters of all. */
export function traceFilters({ tracing, http }: ProxySettings): readonly HttpFilter[] {
  return tracing === undefined ? [] : [KEPT_TRACE, restoreRequestId(http.generateRequestId)];
}

const KEPT_TRACE: HttpFilter = {
  name: 'kept-trace',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.set_filter_state.v3.Config',
    on_request_headers: TRACE_HEADERS.map((header) => ({
      object_key: header,
      factory_key: 'envoy.string',
      format_string: { text_format_source: { inline_string: `%REQ(${held(header)})%` }, omit_empty_values: true },
      skip_if_empty: true,
    })),
  },
};

/** @param generated whether a request without an id keeps the one that Envoy gave it. */
function restoreRequestId(generated: boolean): HttpFilter {
  return {
    name: 'request-id',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation',
      mutations: {
        request_mutations: [
          ...(generated ? [] : [{ remove: REQUEST_ID }]),
          { append: overwrite(REQUEST_ID, `%REQ(${held(REQUEST_ID)})%`) },
          ...HELD_HEADERS.map((header) => ({ remove: held(header) })),
        ],
      },
    },
  };
}

/** Of the router: backends of routes that are not traced get what the client said. Routes that are disable it. */
export const TRACE_CONTEXT = {
  name: 'trace-context',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation',
    mutations: {
      request_mutations: TRACE_HEADERS.flatMap((header) => [
        { remove: header },
        { append: overwrite(header, `%FILTER_STATE(${header}:PLAIN)%`) },
      ]),
    },
  },
} as const satisfies HttpFilter;
