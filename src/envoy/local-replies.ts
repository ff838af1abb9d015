import {
  type envoy_config_accesslog_v3_AccessLogFilter as AccessLogFilter,
  envoy_config_accesslog_v3_ComparisonFilter_Op as Comparison,
  type envoy_extensions_filters_network_http_connection_manager_v3_LocalReplyConfig as LocalReplyConfig,
  type envoy_extensions_filters_network_http_connection_manager_v3_ResponseMapper as ResponseMapper,
} from '../gen/messages.ts';
import { STRICT_TRANSPORT_SECURITY } from './headers.ts';

/** What the status lines of nginx's own pages say, where Envoy answers by itself. */
const TITLES: Readonly<Record<number, string>> = {
  301: '301 Moved Permanently',
  302: '302 Found',
  303: '303 See Other',
  307: '307 Temporary Redirect',
  308: '308 Permanent Redirect',
  400: '400 Bad Request',
  403: '403 Forbidden',
  404: '404 Not Found',
  408: '408 Request Time-out',
  413: '413 Request Entity Too Large',
  426: '426 Upgrade Required',
  429: '429 Too Many Requests',
  431: '431 Request Header Fields Too Large',
  500: '500 Internal Server Error',
  502: '502 Bad Gateway',
  503: '503 Service Temporarily Unavailable',
  504: '504 Gateway Time-out',
};

/** The page that clients see for a status unless a route has a body of its own; `undefined` for a status without a page. */
export function errorPage(status: number): string | undefined {
  const title = TITLES[status];
  if (title === undefined) return undefined;
  const lines = [
    '<html>',
    `<head><title>${title}</title></head>`,
    '<body>',
    `<center><h1>${title}</h1></center>`,
    '<hr><center>nginx</center>',
    '</body>',
    '</html>',
    '',
  ];
  return lines.join('\r\n');
}

/** Name of routes that answer 404 instead of 503 while their cluster has no endpoint. */
export const NOT_FOUND_WITHOUT_ENDPOINTS = 'not-found-without-endpoints';

/** The first mapper that fits decides; one without a change keeps the reply as it is. */
const MAPPERS: readonly ResponseMapper[] = [
  // A route with a body of its own says what that is; the page of its status must not replace it.
  { filter: cel("response.code_details == 'direct_response' && 'content-type' in response.headers") },
  // The body becomes the message of a gRPC status: HTML has no place there.
  { filter: { header_filter: { header: { name: 'content-type', string_match: { prefix: 'application/grpc' } } } } },
  { ...page(504, cel("response.code_details.contains('{connection_timeout')")), status_code: { value: 504 } },
  { ...page(502, { response_flag_filter: { flags: ['UF', 'UC', 'UR', 'UPE'] } }), status_code: { value: 502 } },
  {
    ...page(
      404,
      cel(
        `xds.route_name == '${NOT_FOUND_WITHOUT_ENDPOINTS}' && response.code_details.startsWith('no_healthy_upstream')`,
      ),
    ),
    status_code: { value: 404 },
  },
  ...Object.keys(TITLES).map((status) => page(Number(status), statusIs(Number(status)))),
];

/**
 * Maps what Envoy answers by itself to what nginx answers: 502 for failures of a backend, 504 when it could not be reached
 * in time, and nginx's pages. Over TLS it carries HSTS like everything else, also where no route was found for a request.
 */
export function localReplies({ secure }: { readonly secure: boolean }): LocalReplyConfig {
  if (!secure) return { mappers: MAPPERS };
  const mappers = [...MAPPERS, { filter: statusIsAtLeast(0) }];
  return { mappers: mappers.map((mapper) => ({ ...mapper, headers_to_add: [STRICT_TRANSPORT_SECURITY] })) };
}

function page(status: number, filter: AccessLogFilter): ResponseMapper {
  const text = errorPage(status) ?? '';
  return {
    filter,
    body_format_override: { text_format_source: { inline_string: text }, content_type: 'text/html' },
  };
}

function statusIs(status: number): AccessLogFilter {
  return compareStatus(Comparison.EQ, status);
}

function statusIsAtLeast(status: number): AccessLogFilter {
  return compareStatus(Comparison.GE, status);
}

function compareStatus(op: Comparison, status: number): AccessLogFilter {
  // The runtime key is required but never set.
  const value = { default_value: status, runtime_key: 'none' };
  return { status_code_filter: { comparison: { op, value } } };
}

function cel(expression: string): AccessLogFilter {
  return {
    extension_filter: {
      name: 'envoy.access_loggers.extension_filters.cel',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter',
        expression,
      },
    },
  };
}
