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
  'proxy_upstream_name',
  'remote_addr',
  'remote_port',
  'server_addr',
  'server_port',
  'session_time',
  'ssl_preread_alpn_protocols',
  'ssl_preread_protocol',
  'ssl_preread_server_name',
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

/** Nobody reads the first bytes of a connection, so that these have no value, as in ingress-nginx. */
export function isNeverKnown(name: StreamLogVariableName): boolean {
  return name.startsWith('ssl_preread_');
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
