import {
  type envoy_config_accesslog_v3_AccessLogFilter as AccessLogFilter,
  envoy_config_accesslog_v3_ComparisonFilter_Op as Comparison,
  type envoy_extensions_filters_network_http_connection_manager_v3_LocalReplyConfig as LocalReplyConfig,
  type envoy_extensions_filters_network_http_connection_manager_v3_ResponseMapper as ResponseMapper,
} from '../gen/messages.ts';

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

/**
 * Maps what Envoy answers by itself to what nginx answers: 502 for failures of a backend, 504 when it could not be reached
 * in time, and nginx's pages. The first mapper that fits decides; one without a change keeps the reply as it is.
 */
export const LOCAL_REPLIES: LocalReplyConfig = {
  mappers: [
    // A route with a body of its own says what that is; the page of its status must not replace it.
    { filter: cel("response.code_details == 'direct_response' && 'content-type' in response.headers") },
    // The body becomes the message of a gRPC status: HTML has no place there.
    { filter: { header_filter: { header: { name: 'content-type', string_match: { prefix: 'application/grpc' } } } } },
    { ...page(504, cel("response.code_details.contains('{connection_timeout')")), status_code: { value: 504 } },
    { ...page(502, { response_flag_filter: { flags: ['UF', 'UC', 'UR', 'UPE'] } }), status_code: { value: 502 } },
    ...Object.keys(TITLES).map((status) => page(Number(status), statusIs(Number(status)))),
  ],
};

function page(status: number, filter: AccessLogFilter): ResponseMapper {
  const text = errorPage(status) ?? '';
  return {
    filter,
    body_format_override: { text_format_source: { inline_string: text }, content_type: 'text/html' },
  };
}

function statusIs(status: number): AccessLogFilter {
  // The runtime key is required but never set.
  const value = { default_value: status, runtime_key: 'none' };
  return { status_code_filter: { comparison: { op: Comparison.EQ, value } } };
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
