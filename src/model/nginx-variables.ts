/** Variables of nginx that formats of the log may name beside those that have a meaning here. */

/** Those of every nginx that can run here: nginx writes them itself. */
const OF_EVERY_NGINX = [
  'binary_remote_addr',
  'document_root',
  'gzip_ratio',
  'limit_rate',
  'nginx_version',
  'pid',
  'proxy_host',
  'proxy_port',
  'realip_remote_port',
  'realpath_root',
  'request_body',
  'request_body_file',
  'request_completion',
  'request_filename',
  'ssl_ciphers',
  'ssl_client_cert',
  'ssl_client_escaped_cert',
  'ssl_client_fingerprint',
  'ssl_client_i_dn',
  'ssl_client_i_dn_legacy',
  'ssl_client_raw_cert',
  'ssl_client_s_dn_legacy',
  'ssl_client_serial',
  'ssl_client_v_end',
  'ssl_client_v_remain',
  'ssl_client_v_start',
  'ssl_curves',
  'ssl_early_data',
  'ssl_session_id',
  'ssl_session_reused',
  'tcpinfo_rcv_space',
  'tcpinfo_rtt',
  'tcpinfo_rttvar',
  'tcpinfo_snd_cwnd',
] as const;

/** Those of some nginx: of newer ones, of modules, or of the configuration of ingress-nginx. */
const OF_SOME_NGINX = [
  'ancient_browser',
  'auth_cookie',
  'balancer_ewma_score',
  'brotli_ratio',
  'cache_key',
  'connection_time',
  'connection_upgrade',
  'connections_active',
  'connections_reading',
  'connections_waiting',
  'connections_writing',
  'date_gmt',
  'date_local',
  'fastcgi_path_info',
  'fastcgi_script_name',
  'full_x_forwarded_for',
  'http2',
  'http3',
  'is_request_port',
  'limit_conn_status',
  'limit_req_status',
  'location_path',
  'loggable',
  'modern_browser',
  'msie',
  'opentelemetry_context_b3',
  'opentelemetry_context_traceparent',
  'opentelemetry_span_id',
  'otel_parent_id',
  'otel_parent_sampled',
  'otel_span_id',
  'pass_port',
  'pass_server_port',
  'redirect_to_https',
  'request_port',
  'secure_link',
  'secure_link_expires',
  'slice_range',
  'ssl_alpn_protocol',
  'ssl_curve',
  'ssl_ech_outer_server_name',
  'ssl_ech_status',
  'ssl_sigalg',
  'this_host',
  'uid_got',
  'uid_reset',
  'uid_set',
  'upstream_last_server_name',
  'upstream_queue_time',
] as const;

/** With a name behind it. */
const PREFIXES_OF_EVERY_NGINX = ['sent_trailer_', 'upstream_cookie_', 'upstream_trailer_'] as const;
const PREFIXES_OF_SOME_NGINX = ['geoip_', 'proxy_protocol_tlv_'] as const;

const everywhere: ReadonlySet<string> = new Set(OF_EVERY_NGINX);
const somewhere: ReadonlySet<string> = new Set(OF_SOME_NGINX);

/** Whether nginx has it, wherever it runs. */
export function isOfEveryNginx(name: string): boolean {
  return everywhere.has(name) || startsWithOne(name, PREFIXES_OF_EVERY_NGINX);
}

/** Whether some nginx has it. */
export function isOfNginx(name: string): boolean {
  return isOfEveryNginx(name) || somewhere.has(name) || startsWithOne(name, PREFIXES_OF_SOME_NGINX);
}

function startsWithOne(name: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => name.length > prefix.length && name.startsWith(prefix));
}

/** Every name, for the documentation; `…` stands for what is behind a prefix. */
export const nginxVariables = {
  every: listed(OF_EVERY_NGINX, PREFIXES_OF_EVERY_NGINX),
  some: listed(OF_SOME_NGINX, PREFIXES_OF_SOME_NGINX),
} as const;

function listed(names: readonly string[], prefixes: readonly string[]): readonly string[] {
  return [...names, ...prefixes.map((prefix) => `${prefix}…`)].toSorted();
}
