import {
  type envoy_config_accesslog_v3_AccessLogFilter as AccessLogFilter,
  envoy_config_accesslog_v3_ComparisonFilter_Op as Comparison,
  type envoy_extensions_filters_network_http_connection_manager_v3_LocalReplyConfig as LocalReplyConfig,
  type envoy_extensions_filters_network_http_connection_manager_v3_ResponseMapper as ResponseMapper,
} from '../gen/messages.ts';
import type { RedirectStatus } from '../model/proxy-model.ts';
import type { ProxySettings } from '../model/settings.ts';
import { BAD_REQUEST, METHOD_NOT_ALLOWED } from './filters/request-check.ts';
import { headersOverTls, overwrite } from './headers.ts';
import { httpsLocation, REDIRECT_TO_HTTPS } from './redirect.ts';

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
  405: '405 Not Allowed',
  408: '408 Request Time-out',
  413: '413 Request Entity Too Large',
  426: '426 Upgrade Required',
  429: '429 Too Many Requests',
  500: '500 Internal Server Error',
  502: '502 Bad Gateway',
  503: '503 Service Temporarily Unavailable',
  504: '504 Gateway Time-out',
};

/** The page that clients see for a status unless a route has a body of its own; `undefined` for a status without a page. */
export function errorPage(status: number): string | undefined {
  const title = TITLES[status];
  return title === undefined ? undefined : pageOf(title);
}

/** A page as nginx writes it. */
export function pageOf(
  title: string,
  { heading = title, more = [] }: { heading?: string; more?: readonly string[] } = {},
) {
  const lines = [
    '<html>',
    `<head><title>${title}</title></head>`,
    '<body>',
    `<center><h1>${heading}</h1></center>`,
    ...more.map((text) => `<center>${text}</center>`),
    '<hr><center>nginx</center>',
    '</body>',
    '</html>',
    '',
  ];
  return lines.join('\r\n');
}

/** Name of routes that answer 404 instead of 503 while their cluster has no endpoint. */
export const NOT_FOUND_WITHOUT_ENDPOINTS = 'not-found-without-endpoints';

/** nginx's page for its status 494, which clients see as 400. */
const TOO_LARGE_HEADERS = pageOf('400 Request Header Or Cookie Too Large', {
  heading: '400 Bad Request',
  more: ['Request Header Or Cookie Too Large'],
});

/** Replies that stay as they are: these mappers come first, and change nothing. */
const KEPT: readonly ResponseMapper[] = [
  // A route with a body of its own says what that is; the page of its status must not replace it.
  { filter: cel("response.code_details == 'direct_response' && 'content-type' in response.headers") },
  // The body becomes the message of a gRPC status: HTML has no place there.
  { filter: { header_filter: { header: { name: 'content-type', string_match: { prefix: 'application/grpc' } } } } },
];

const REDIRECTS: readonly ResponseMapper[] = ([301, 302, 303, 307, 308] as const).map(redirectToHttps);

const MAPPERS: readonly ResponseMapper[] = [
  mapped(504, cel("response.code_details.contains('{connection_timeout')")),
  mapped(502, { response_flag_filter: { flags: ['UF', 'UC', 'UR', 'UPE'] } }),
  mapped(
    404,
    cel(
      `xds.route_name == '${NOT_FOUND_WITHOUT_ENDPOINTS}' && response.code_details.startsWith('no_healthy_upstream')`,
    ),
  ),
  mapped(405, cel(`response.code_details == '${deniedBy(METHOD_NOT_ALLOWED)}'`)),
  // The latter is `OPTIONS *`, which Envoy answers 404.
  mapped(400, cel(`response.code_details in ['${deniedBy(BAD_REQUEST)}', 'absolute_path_rejected']`)),
  { ...mapped(400, statusIs(431)), ...body(TOO_LARGE_HEADERS) },
  ...Object.keys(TITLES).map((status) => page(Number(status), statusIs(Number(status)))),
];

export interface LocalReplyOptions {
  /** Whether the connection is one over TLS. */
  readonly secure: boolean;
  /** Whether the table holds redirects to https. */
  readonly redirects: boolean;
}

/**
 * Maps what Envoy answers by itself to what nginx answers: 502 for failures of a backend, 504 when it could not be reached
 * in time, and nginx's pages. The first mapper that fits decides. Over TLS it carries the headers of everything else, also where no route was found for a request.
 */
export function localReplies(
  settings: Pick<ProxySettings, 'headers' | 'listener'>,
  { secure, redirects }: LocalReplyOptions,
): LocalReplyConfig {
  const common = [...KEPT, ...(redirects ? REDIRECTS : []), ...MAPPERS];
  const security = secure ? headersOverTls(settings) : [];
  if (security.length === 0) return { mappers: common };
  const mappers: readonly ResponseMapper[] = [...common, { filter: statusIsAtLeast(0) }];
  return {
    mappers: mappers.map((mapper) => ({ ...mapper, headers_to_add: [...(mapper.headers_to_add ?? []), ...security] })),
  };
}

/** Answers with another status, and its page. */
function mapped(status: number, filter: AccessLogFilter): ResponseMapper {
  return { ...page(status, filter), status_code: { value: status } };
}

function page(status: number, filter: AccessLogFilter): ResponseMapper {
  return { filter, ...body(errorPage(status) ?? '') };
}

function body(text: string) {
  return { body_format_override: { text_format_source: { inline_string: text }, content_type: 'text/html' } };
}

/** The details of a response that the check of requests gave, by the name of its policy. */
function deniedBy(policy: string): string {
  return `rbac_access_denied_matched_policy[${policy}]`;
}

/** The location is computed here, from the request, so that the route of a host needs to say no more than that it redirects. */
function redirectToHttps(status: RedirectStatus): ResponseMapper {
  const isRedirect = cel(`xds.route_name == '${REDIRECT_TO_HTTPS}'`);
  return {
    ...page(status, { and_filter: { filters: [statusIs(status), isRedirect] } }),
    headers_to_add: [overwrite('location', httpsLocation({}))],
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
