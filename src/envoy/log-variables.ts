/** What Envoy writes for the variables of nginx in a format of the access log. */
import type { LogEscape, LogVariable } from '../model/log-format.ts';
import { HOST_WITHOUT_PORT } from './cel.ts';
import { LOGGED_USER } from './filters/logged-user.ts';
import { asItCame } from './filters/original-request.ts';
import { BEST_HTTP_HOST, REQUEST_URI } from './format.ts';
import { INGRESS_METADATA } from './policies/log.ts';

/**
 * `operator`: of Envoy, for values that are always there and that no client chooses. `cel`: an expression whose value is a string; the
 * value is missing where `when` does not hold; `client`: a client chose it, so it may hold anything. `followedBy`: an operator behind it.
 * `missing`: Envoy does not know it.
 */
type Form =
  | { readonly operator: string }
  | { readonly missing: true }
  | { readonly cel: string; readonly when?: string; readonly client?: true; readonly followedBy?: string };

/** @see https://www.envoyproxy.io/docs/envoy/v1.40.0/intro/arch_overview/advanced/attributes */
const WAS_SENT = 'has(upstream.address)';
const HAS_CLUSTER = 'has(xds.cluster_name)';

/** Whatever a request says of itself. */
const IS_OVER_TLS = 'has(connection.tls_version)';

const CLIENT = '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%';

/** As nginx writes it. */
const PROTOCOL = "(request.protocol in ['HTTP/2', 'HTTP/3'] ? request.protocol + '.0' : request.protocol)";

/** Where the `X-Forwarded-For` of a client is kept. */
const AS_IT_CAME = 'x-original-forwarded-for';

/**
 * The name of a cluster, `namespace/service/port`, which has `@` and the same of a canary behind it, and `~…` for a variant; nginx
 * joins by hyphens.
 */
const CLUSTER = "xds.cluster_name.split('~')[0].split('@')[0]";
const CANARY = "(xds.cluster_name.split('~')[0] + '@').split('@')[1]";

/** Until a connection was there: none at all where one was kept, and no value where none came about. */
export const CONNECT_TIME = {
  cel: seconds('upstream.cx_pool_ready_duration'),
  when: 'has(upstream.local_address) && has(upstream.cx_pool_ready_duration)',
} as const satisfies Form;

const MISSING = { missing: true } as const;

const FORMS: { readonly [N in LogVariable['variable']]: Form | ((argument: string) => Form) } = {
  arg: (name) => ({
    cel: `re.extract('&' + request.query, '(?i)^.*?&${name}=([^&]*).*$', '\\\\1')`,
    when: `('&' + request.query.lowerAscii()).contains('&${name.toLowerCase()}=')`,
    client: true,
  }),
  args: { cel: 'request.query', when: "request.query != ''", client: true },
  best_http_host: { cel: `string(${BEST_HTTP_HOST})`, client: true },
  body_bytes_sent: { operator: '%BYTES_SENT%' },
  bytes_sent: { cel: 'string(response.total_size)' },
  connection: { operator: '%CONNECTION_ID%' },
  connection_requests: MISSING,
  content_length: requestHeader('content-length'),
  content_type: requestHeader('content-type'),
  cookie: (name) => ({
    cel: `re.extract('; ' + request.headers['cookie'], '(?i)^.*?; ${name}=([^;]*).*$', '\\\\1')`,
    when: `'cookie' in request.headers && ('; ' + request.headers['cookie'].lowerAscii()).contains('; ${name.toLowerCase()}=')`,
    client: true,
  }),
  geoip2: MISSING,
  host: { cel: `string(${asItCame('ingress.host', `${HOST_WITHOUT_PORT}.lowerAscii()`)})`, client: true },
  hostname: { operator: '%HOSTNAME%' },
  http: (name) => requestHeader(headerName(name)),
  http_host: { cel: `string(${asItCame('ingress.authority', 'request.host')})`, client: true },
  https: { cel: `${IS_OVER_TLS} ? 'on' : ''` },
  ingress_name: {
    cel: `xds.route_metadata.filter_metadata['${INGRESS_METADATA}']['ingress']`,
    when: `'${INGRESS_METADATA}' in xds.route_metadata.filter_metadata`,
  },
  is_args: { cel: "request.query == '' ? '' : '?'" },
  literal_dollar: { operator: '$' },
  msec: { operator: '%START_TIME(%s.%3f)%' },
  namespace: { cel: `${CLUSTER}.split('/')[0]`, when: HAS_CLUSTER },
  other: MISSING,
  pass_access_scheme: requestHeader('x-forwarded-proto'),
  // Envoy takes no request before it has answered the last one.
  pipe: { operator: '.' },
  proxy_add_x_forwarded_for: {
    cel: `'${AS_IT_CAME}' in request.headers ? request.headers['${AS_IT_CAME}'] + ', ' : ''`,
    client: true,
    followedBy: CLIENT,
  },
  proxy_alternative_upstream_name: { cel: `${HAS_CLUSTER} ? ${CANARY}.replace('/', '-') : ''` },
  proxy_protocol_addr: { operator: CLIENT },
  proxy_protocol_port: { operator: '%DOWNSTREAM_REMOTE_PORT%' },
  proxy_protocol_server_addr: { operator: '%DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT%' },
  proxy_protocol_server_port: { operator: '%DOWNSTREAM_LOCAL_PORT%' },
  proxy_upstream_name: { cel: `${CLUSTER}.replace('/', '-')`, when: HAS_CLUSTER },
  realip_remote_addr: { operator: '%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%' },
  remote_addr: { operator: CLIENT },
  remote_port: { cel: 'string(source.port)' },
  remote_user: { ...LOGGED_USER, client: true },
  req_id: requestHeader('x-request-id'),
  request: { cel: `request.method + ' ' + string(${REQUEST_URI}) + ' ' + ${PROTOCOL}`, client: true },
  request_length: { cel: 'string(request.total_size)' },
  request_method: { operator: '%REQ(:METHOD)%' },
  request_time: { cel: seconds('request.duration') },
  request_uri: { cel: `string(${REQUEST_URI})`, client: true },
  scheme: { cel: `${IS_OVER_TLS} ? 'https' : 'http'` },
  sent_http: (name) => responseHeader(headerName(name)),
  server_addr: { operator: '%DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT%' },
  server_name: { cel: "xds.virtual_host_name == '*' ? '_' : xds.virtual_host_name" },
  server_port: { operator: '%DOWNSTREAM_LOCAL_PORT%' },
  server_protocol: { cel: PROTOCOL },
  service_name: { cel: `${CLUSTER}.split('/')[1]`, when: HAS_CLUSTER },
  service_port: { cel: `${CLUSTER}.split('/')[2]`, when: HAS_CLUSTER },
  ssl_cipher: { operator: '%DOWNSTREAM_TLS_CIPHER%' },
  ssl_client_s_dn: {
    cel: 'connection.subject_peer_certificate',
    when: "has(connection.subject_peer_certificate) && connection.subject_peer_certificate != ''",
    client: true,
  },
  ssl_client_verify: { cel: "(connection.mtls ? 'SUCCESS' : 'NONE')", when: IS_OVER_TLS },
  ssl_protocol: { operator: '%DOWNSTREAM_TLS_VERSION%' },
  ssl_server_name: {
    cel: 'connection.requested_server_name',
    when: "connection.requested_server_name != ''",
    client: true,
  },
  // nginx's status for a client that went away before it had an answer.
  status: { cel: "has(response.code) ? string(response.code) : '499'" },
  time_iso8601: { operator: '%START_TIME(%Y-%m-%dT%H:%M:%S%Ez)%' },
  time_local: { operator: '%START_TIME(%d/%b/%Y:%H:%M:%S %z)%' },
  trace_id: { operator: '%TRACE_ID%' },
  upstream_addr: { cel: 'upstream.address', when: WAS_SENT },
  upstream_bytes_received: { operator: '%UPSTREAM_WIRE_BYTES_RECEIVED%' },
  upstream_bytes_sent: { operator: '%UPSTREAM_WIRE_BYTES_SENT%' },
  // Nothing is kept.
  upstream_cache_status: MISSING,
  upstream_connect_time: CONNECT_TIME,
  upstream_header_time: { cel: seconds('response.backend_latency'), when: 'has(response.backend_latency)' },
  upstream_http: (name) => responseHeader(headerName(name)),
  upstream_response_length: { cel: 'string(response.size)', when: WAS_SENT },
  upstream_response_time: { cel: seconds('response.backend_latency'), when: 'has(response.backend_latency)' },
  upstream_status: { cel: 'string(response.code)', when: `${WAS_SENT} && has(response.code)` },
  uri: { cel: 'request.url_path', client: true },
};

/**
 * The text of a format of Envoy for a variable.
 * @param instead what is written where it is missing
 */
export function logOperator({ variable, argument = '' }: LogVariable, how: LogEscape, instead: string): string {
  const written = FORMS[variable];
  const form = typeof written === 'function' ? written(argument) : written;
  if ('operator' in form) return form.operator;
  if ('missing' in form) return instead;
  return (
    conditional({ ...form, cel: form.client ? escaped(form.cel, how) : form.cel }, instead) + (form.followedBy ?? '')
  );
}

/** The value where there is one. */
export function conditional({ cel: value, when }: { readonly cel: string; readonly when?: string }, instead: string) {
  return cel(when === undefined ? value : `${when} ? ${value} : '${instead}'`);
}

/** What cannot be evaluated is written as `-`. */
export function cel(expression: string): string {
  return `%CEL(${expression})%`;
}

/** Text of a client inside other text: it must not be able to end that. */
function escaped(text: string, how: LogEscape): string {
  switch (how) {
    case 'none':
      return `(${text})`;
    case 'json':
      return String.raw`(${text}).replace('\\', '\\\\').replace('"', '\\"').replace('\t', '\\t')`;
    case 'default':
      return String.raw`(${text}).replace('\\', '\\x5C').replace('"', '\\x22')`;
  }
}

/** A time as nginx writes it: seconds with three decimals. Envoy's own operators write whole milliseconds. */
export function seconds(duration: string): string {
  return `string(${duration}.getSeconds()) + '.' + string(1000 + ${duration}.getMilliseconds()).substring(1)`;
}

function headerName(variable: string): string {
  const name = variable.replaceAll('_', '-').toLowerCase();
  return name === 'x-forwarded-for' ? AS_IT_CAME : name;
}

function requestHeader(name: string): Form {
  return { cel: `request.headers['${name}']`, when: `'${name}' in request.headers`, client: true };
}

function responseHeader(name: string): Form {
  return { cel: `response.headers['${name}']`, when: `'${name}' in response.headers`, client: true };
}
