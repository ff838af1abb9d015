import { isOfEveryNginx, isOfNginx } from './nginx-variables.ts';

/** The format of a line of the access log: text and variables of nginx. */
export type LogFormat = readonly (string | LogVariable)[];

/**
 * `argument` is what follows `http_`, `arg_`, `cookie_`, `sent_http_`, `upstream_http_` or `geoip2_`. `other`: one of nginx alone, whose
 * name `argument` is.
 */
export interface LogVariable {
  readonly variable: LogVariableName | typeof OTHER;
  readonly argument?: string;
}

const OTHER = 'other';

/** What a proxy can say of a request. */
export const logVariableNames = [
  'args',
  'best_http_host',
  'body_bytes_sent',
  'bytes_sent',
  'connection',
  'connection_requests',
  'content_length',
  'content_type',
  'host',
  'hostname',
  'http_host',
  'https',
  'ingress_name',
  'is_args',
  'literal_dollar',
  'msec',
  'namespace',
  'pass_access_scheme',
  'pipe',
  'proxy_add_x_forwarded_for',
  'proxy_alternative_upstream_name',
  'proxy_protocol_addr',
  'proxy_protocol_port',
  'proxy_protocol_server_addr',
  'proxy_protocol_server_port',
  'proxy_upstream_name',
  'realip_remote_addr',
  'remote_addr',
  'remote_port',
  'remote_user',
  'req_id',
  'request',
  'request_length',
  'request_method',
  'request_time',
  'request_uri',
  'scheme',
  'server_addr',
  'server_name',
  'server_port',
  'server_protocol',
  'service_name',
  'service_port',
  'ssl_cipher',
  'ssl_client_s_dn',
  'ssl_client_verify',
  'ssl_protocol',
  'ssl_server_name',
  'status',
  'time_iso8601',
  'time_local',
  'trace_id',
  'upstream_addr',
  'upstream_bytes_received',
  'upstream_bytes_sent',
  'upstream_cache_status',
  'upstream_connect_time',
  'upstream_header_time',
  'upstream_response_length',
  'upstream_response_time',
  'upstream_status',
  'uri',
  'arg',
  'cookie',
  'http',
  'sent_http',
  'upstream_http',
  'geoip2',
] as const;

export type LogVariableName = (typeof logVariableNames)[number];

/** Other names of the same. */
const ALIASES: Readonly<Record<string, LogVariableName>> = {
  document_uri: 'uri',
  opentelemetry_trace_id: 'trace_id',
  otel_trace_id: 'trace_id',
  query_string: 'args',
  request_id: 'req_id',
  the_real_ip: 'remote_addr',
};

const NAMES: Readonly<Record<string, LogVariableName>> = {
  ...Object.fromEntries(logVariableNames.map((name) => [name, name])),
  ...ALIASES,
};

const WITH_ARGUMENT = [
  'sent_http',
  'upstream_http',
  'http',
  'arg',
  'cookie',
  'geoip2',
] as const satisfies readonly LogVariableName[];

/** As the documentation shows it: `…` stands for the name of a header, argument or cookie. */
export function shownName(name: string): string {
  return (WITH_ARGUMENT as readonly string[]).includes(name) ? `${name}_…` : name;
}

/** Every name that a format may hold, as the documentation shows it. */
export const logVariables: readonly string[] = Object.keys(NAMES).map(shownName).toSorted();

/** `log_format` of nginx. A variable that nginx does not know is named, not passed on. */
export function parseLogFormat(text: string): ParsedFormat<LogVariable> {
  return parseFormat(text, variableOf);
}

export type ParsedFormat<V> = { readonly value: readonly (string | V)[] } | { readonly reason: string };

/** A line of the log is made for each request, and each variable in it takes the proxy some microseconds. */
const MAX_LENGTH = 16_384;
const MAX_ARGUMENT = 128;

/** @param variableOf `undefined` for a name that is not known */
export function parseFormat<V>(text: string, variableOf: (name: string) => V | undefined): ParsedFormat<V> {
  if (text.length > MAX_LENGTH) return { reason: `has more than ${MAX_LENGTH} characters` };
  const parts: (string | V)[] = [];
  const unknown = new Set<string>();
  let end = 0;
  for (const match of text.matchAll(/\$(?:\{(\w+)\}|(\w*))/g)) {
    const name = match[1] ?? match[2] ?? '';
    if (name === '') {
      return {
        reason: `holds a $ that no name of a variable follows (character ${match.index + 1}), which nginx refuses`,
      };
    }
    const variable = variableOf(name);
    if (variable === undefined) {
      unknown.add(`$${name}`);
      continue;
    }
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push(variable);
    end = match.index + match[0].length;
  }
  if (unknown.size > 0) {
    const what = unknown.size === 1 ? 'the variable' : 'the variables';
    return { reason: `holds ${what} ${[...unknown].join(', ')}, which nginx does not know` };
  }
  if (end < text.length) parts.push(text.slice(end));
  return { value: parts };
}

function variableOf(name: string): LogVariable | undefined {
  const variable = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
  if (variable !== undefined && !WITH_ARGUMENT.some((prefix) => prefix === variable)) return { variable };
  if (isOfNginx(name)) return { variable: OTHER, argument: name };
  const prefix = WITH_ARGUMENT.find((one) => name.startsWith(`${one}_`));
  const argument = name.slice((prefix?.length ?? 0) + 1);
  return prefix === undefined || argument === '' || argument.length > MAX_ARGUMENT
    ? undefined
    : { variable: prefix, argument };
}

/** How values are written so that they cannot end the text around them: `default` as `\x22`, `json` as `\"`, `none` as they are. */
export type LogEscape = 'default' | 'json' | 'none';

/** What each proxy cannot say, whatever the request. */
export const UNSAID: { readonly [P in 'envoy' | 'nginx']: readonly LogVariableName[] } = {
  envoy: ['connection_requests', 'geoip2'],
  // Of modules that are not there.
  nginx: ['geoip2', 'trace_id'],
};

/** Whether the proxy writes a variable as missing, whatever the request. */
export function isUnsaid({ variable, argument = '' }: LogVariable, proxy: 'envoy' | 'nginx'): boolean {
  if (variable === OTHER) return proxy === 'envoy' || !isOfEveryNginx(argument);
  return UNSAID[proxy].includes(variable);
}

/** The variables of a format that the proxy writes as missing, as they stand there, each once. */
export function unsaidVariables(format: LogFormat, proxy: 'envoy' | 'nginx'): readonly string[] {
  const unsaid = format.filter((part) => typeof part !== 'string').filter((part) => isUnsaid(part, proxy));
  const names = unsaid.map(({ variable, argument }) =>
    variable === OTHER ? argument : [variable, argument].filter(Boolean).join('_'),
  );
  return [...new Set(names)].map((name) => `$${name}`);
}

/** For connections without a header of the PROXY protocol: what it would say is missing, also where the proxy sends one to itself. */
export function withoutProxyProtocol(format: LogFormat): LogFormat {
  return format.map((part) =>
    typeof part !== 'string' && part.variable.startsWith('proxy_protocol_') ? { variable: OTHER } : part,
  );
}

/** Whether lines hold the path as nginx decodes it. */
export function namesDecodedPath(format: LogFormat): boolean {
  return format.some((part) => typeof part !== 'string' && part.variable === 'uri');
}

/** Whether lines name the Ingress, its namespace, or the Service. */
export function namesIngress(format: LogFormat): boolean {
  return format.some((part) => typeof part !== 'string' && OF_INGRESS.has(part.variable));
}

const OF_INGRESS: ReadonlySet<string> = new Set(['namespace', 'ingress_name', 'service_name', 'service_port']);

export const DEFAULT_LOG_TEXT =
  '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time $upstream_status $req_id';

/** `log-format-upstream` of ingress-nginx. */
export const DEFAULT_LOG_FORMAT: LogFormat = formatOf(DEFAULT_LOG_TEXT);

function formatOf(text: string): LogFormat {
  const parsed = parseLogFormat(text);
  if ('reason' in parsed) throw new Error(parsed.reason);
  return parsed.value;
}
