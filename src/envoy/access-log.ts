import type { envoy_config_accesslog_v3_AccessLog as AccessLog } from '../gen/messages.ts';

export interface AccessLogOptions {
  /** Whether Envoy writes a line for each request to its standard output. Default: no. */
  readonly accessLog?: boolean;
}

/**
 * A time as nginx writes it: seconds with three decimals. Envoy's own operators write whole milliseconds.
 * `duration` is an attribute, https://www.envoyproxy.io/docs/envoy/v1.40.0/intro/arch_overview/advanced/attributes
 */
function seconds(duration: string): string {
  return cel(`string(${duration}.getSeconds()) + '.' + string(1000 + ${duration}.getMilliseconds()).substring(1)`);
}

/** Text of a client between quotes: it must not be able to end them. */
function escaped(text: string): string {
  return cel(String.raw`${text}.replace('\\', '\\x5C').replace('"', '\\x22')`);
}

/** What cannot be evaluated, such as a header that is not there, is written as `-`. */
function cel(expression: string): string {
  return `%CEL(${expression})%`;
}

const WAS_SENT = "upstream.address != ''";

/** Names, and order, are those of nginx's variables in the default `log-format-upstream` of ingress-nginx. */
const FIELDS = {
  remote_addr: '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT% -',
  remote_user: '-',
  time_local: '[%START_TIME(%d/%b/%Y:%H:%M:%S %z)%]',
  request: `"%REQ(:METHOD)% ${escaped('request.path')} %PROTOCOL%"`,
  // nginx's status for a client that went away before it had an answer.
  status: cel("has(response.code) ? string(response.code) : '499'"),
  body_bytes_sent: '%BYTES_SENT%',
  http_referer: `"${escaped("request.headers['referer']")}"`,
  http_user_agent: `"${escaped("request.headers['user-agent']")}"`,
  request_length: cel('request.total_size'),
  request_time: seconds('request.duration'),
  // A cluster is called `namespace/service/port`, with `@` and the same of a canary, and `~…` behind it for a variant; nginx joins by hyphens.
  proxy_upstream_name: `[${cel("xds.cluster_name.split('~')[0].split('@')[0].replace('/', '-')")}]`,
  proxy_alternative_upstream_name: `[${cel("has(xds.cluster_name) ? (xds.cluster_name.split('~')[0] + '@').split('@')[1].replace('/', '-') : ''")}]`,
  upstream_addr: '%UPSTREAM_HOST%',
  upstream_response_length: cel(`${WAS_SENT} ? string(response.size) : '-'`),
  upstream_response_time: seconds('response.backend_latency'),
  upstream_status: cel(`${WAS_SENT} ? string(response.code) : '-'`),
  req_id: '%REQ(X-REQUEST-ID)%',
} as const;

/** The same for the default `log-format-stream`, in which nginx writes one line for each connection of a TCP service. */
const TCP_FIELDS = {
  remote_addr: '[%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%]',
  time_local: FIELDS.time_local,
  protocol: 'TCP',
  // nginx's status for a connection that no endpoint has taken.
  status: cel("has(upstream.local_address) ? '200' : '502'"),
  bytes_sent: '%BYTES_SENT%',
  bytes_received: '%BYTES_RECEIVED%',
  session_time: seconds('request.duration'),
} as const;

/** Of UDP sessions Envoy knows no duration but in milliseconds. */
const UDP_FIELDS = {
  ...TCP_FIELDS,
  protocol: 'UDP',
  status: cel("has(upstream.address) ? '200' : '502'"),
  session_time: '-',
} as const;

/** One line for each request, in the format that log parsers know from ingress-nginx. */
export const ACCESS_LOG: AccessLog = stdoutLog(FIELDS);

/** One line for each connection of a TCP service. */
export const TCP_ACCESS_LOG: AccessLog = stdoutLog(TCP_FIELDS);

/** One line for each session of a UDP service: what one client port sent and received. */
export const UDP_ACCESS_LOG: AccessLog = stdoutLog(UDP_FIELDS);

/** To Envoy's open standard output, not to /dev/stdout, which an unprivileged process may not be able to open. */
function stdoutLog(fields: Readonly<Record<string, string>>): AccessLog {
  return {
    name: 'envoy.access_loggers.stdout',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog',
      log_format: {
        text_format_source: { inline_string: `${Object.values(fields).join(' ')}\n` },
        formatters: [
          {
            name: 'envoy.formatter.cel',
            typed_config: {
              '@type': 'type.googleapis.com/envoy.extensions.formatter.cel.v3.Cel',
              cel_config: { enable_string_conversion: true, enable_string_concat: true, enable_string_functions: true },
            },
          },
        ],
      },
    },
  };
}
