import { type ParsedFormat, parseFormat } from './log-format.ts';
import type { StreamListener } from './proxy-model.ts';

/** The format of a line about a connection of a TCP service, or a session of a UDP service: text and variables of nginx. */
export type StreamLogFormat = readonly (string | StreamLogVariable)[];

export interface StreamLogVariable {
  readonly variable: StreamLogVariableName;
}

/** What a proxy can say of a connection. */
export const streamLogVariableNames = [
  'bytes_received',
  'bytes_sent',
  'connection',
  'hostname',
  'msec',
  'protocol',
  'proxy_protocol_addr',
  'proxy_protocol_port',
  'proxy_protocol_server_addr',
  'proxy_protocol_server_port',
  'proxy_upstream_name',
  'realip_remote_addr',
  'realip_remote_port',
  'remote_addr',
  'remote_port',
  'server_addr',
  'server_port',
  'session_time',
  'ssl_alpn_protocol',
  'ssl_cipher',
  'ssl_ciphers',
  'ssl_client_s_dn',
  'ssl_client_verify',
  'ssl_curve',
  'ssl_curves',
  'ssl_preread_alpn_protocols',
  'ssl_preread_protocol',
  'ssl_preread_server_name',
  'ssl_protocol',
  'ssl_server_name',
  'ssl_session_id',
  'ssl_session_reused',
  'status',
  'time_iso8601',
  'time_local',
  'upstream_addr',
  'upstream_bytes_received',
  'upstream_bytes_sent',
  'upstream_connect_time',
  'upstream_first_byte_time',
  'upstream_session_time',
] as const;

export type StreamLogVariableName = (typeof streamLogVariableNames)[number];

/** Nobody reads the first bytes of a connection, nor ends its TLS, so that these have no value, as in ingress-nginx. */
export function isNeverKnown(name: StreamLogVariableName): boolean {
  return name.startsWith('ssl_');
}

/** What each proxy cannot say beside that. */
const UNSAID: { readonly [P in 'envoy' | 'nginx']: readonly StreamLogVariableName[] } = {
  envoy: ['upstream_first_byte_time', 'upstream_session_time'],
  // Of a module that may not be there.
  nginx: ['realip_remote_addr', 'realip_remote_port'],
};

/** Whether the proxy writes a variable as missing, whatever the connection. */
export function isUnsaidOfStream(name: StreamLogVariableName, proxy: 'envoy' | 'nginx'): boolean {
  return isNeverKnown(name) || UNSAID[proxy].includes(name);
}

/** The variables of a format that the proxy writes as missing where ingress-nginx would not, each once. */
export function unsaidStreamVariables(format: StreamLogFormat, proxy: 'envoy' | 'nginx'): readonly string[] {
  const names = new Set(format.flatMap((part) => (typeof part === 'string' ? [] : [part.variable])));
  return UNSAID[proxy].filter((name) => names.has(name)).map((name) => `$${name}`);
}

/** `log_format` of nginx in its `stream`. A variable that is not known is named, not passed on. */
export function parseStreamLogFormat(text: string): ParsedFormat<StreamLogVariable> {
  return parseFormat(text, (name) => {
    const variable = streamLogVariableNames.find((known) => known === name);
    return variable && { variable };
  });
}

/** Whether lines name the Service. */
export function namesService(format: StreamLogFormat): boolean {
  return format.some((part) => typeof part !== 'string' && part.variable === 'proxy_upstream_name');
}

/** `tcp-shop-db-5432`: what lines call the Service, as those of ingress-nginx do. */
export function serviceInLog({ protocol, cluster }: Pick<StreamListener, 'protocol' | 'cluster'>): string {
  const [service = ''] = cluster.split('~');
  return [protocol, ...service.split('/').slice(0, 3)].join('-');
}

export const DEFAULT_STREAM_LOG_TEXT =
  '[$remote_addr] [$time_local] $protocol $status $bytes_sent $bytes_received $session_time';

/** `log-format-stream` of ingress-nginx. */
export const DEFAULT_STREAM_LOG_FORMAT: StreamLogFormat = formatOf(DEFAULT_STREAM_LOG_TEXT);

function formatOf(text: string): StreamLogFormat {
  const parsed = parseStreamLogFormat(text);
  if ('reason' in parsed) throw new Error(parsed.reason);
  return parsed.value;
}
