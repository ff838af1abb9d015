import type {
  envoy_config_accesslog_v3_AccessLog as AccessLog,
  envoy_config_accesslog_v3_AccessLogFilter as AccessLogFilter,
} from '../gen/messages.ts';
import type { RequestLog, TextPattern } from '../model/settings.ts';
import { CEL_FORMATTER, CEL_STRINGS } from './cel.ts';
import { literal, REQUEST_URI } from './format.ts';
import { logOperator, seconds } from './log-variables.ts';
import { INGRESS_METADATA } from './policies/log.ts';

export interface AccessLogOptions {
  /** Whether Envoy writes a line for each request to its standard output. Default: no. */
  readonly accessLog?: boolean;
}

/**
 * Names, and order, are those of nginx's variables in the default `log-format-stream` of ingress-nginx, in which
 * nginx writes one line for each connection of a TCP service.
 */
const TCP_FIELDS = {
  remote_addr: '[%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%]',
  time_local: '[%START_TIME(%d/%b/%Y:%H:%M:%S %z)%]',
  protocol: 'TCP',
  // nginx's status for a connection that no endpoint has taken.
  status: cel("has(upstream.local_address) ? '200' : '502'"),
  bytes_sent: '%BYTES_SENT%',
  bytes_received: '%BYTES_RECEIVED%',
  session_time: cel(seconds('request.duration')),
} as const;

/** Of UDP sessions Envoy knows no duration but in milliseconds. */
const UDP_FIELDS = {
  ...TCP_FIELDS,
  protocol: 'UDP',
  status: cel("has(upstream.address) ? '200' : '502'"),
  session_time: '-',
} as const;

/** One line for each connection of a TCP service. */
export const TCP_ACCESS_LOG: AccessLog = stdoutLog(Object.values(TCP_FIELDS).join(' '));

/** One line for each session of a UDP service: what one client port sent and received. */
export const UDP_ACCESS_LOG: AccessLog = stdoutLog(Object.values(UDP_FIELDS).join(' '));

/** One line for each request. */
export function accessLog({ format, escape: how, skip }: RequestLog): AccessLog {
  const line = format.map((part) => (typeof part === 'string' ? literal(part) : logOperator(part, how))).join('');
  return { ...stdoutLog(line), filter: isLogged(skip) };
}

/** Not what a route says is not to be logged, nor the paths that are skipped. */
function isLogged(skip: readonly TextPattern[]): AccessLogFilter {
  const path = `string(${REQUEST_URI})`;
  const skipped = skip.map((pattern) => `${path}.matches(${quoted(expressionOf(pattern))})`);
  const metadata = 'xds.route_metadata.filter_metadata';
  const off = `'${INGRESS_METADATA}' in ${metadata} && 'log' in ${metadata}['${INGRESS_METADATA}']`;
  const conditions = [`!(${off})`, ...skipped.map((condition) => `!${condition}`)];
  return {
    extension_filter: {
      name: 'envoy.access_loggers.extension_filters.cel',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter',
        expression: conditions.join(' && '),
        ...(skip.length > 0 && { cel_config: CEL_STRINGS }),
      },
    },
  };
}

function expressionOf(pattern: TextPattern): string {
  if (pattern.kind === 'regex') return `${pattern.ignoreCase ? '(?i)' : ''}${pattern.pattern}`;
  return `(?i)^${pattern.text.replaceAll(/[^\w]/gu, (character) => `\\x{${character.codePointAt(0)?.toString(16)}}`)}$`;
}

/** Text in an expression of CEL. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** To Envoy's open standard output, not to /dev/stdout, which an unprivileged process may not be able to open. */
function stdoutLog(line: string): AccessLog {
  return {
    name: 'envoy.access_loggers.stdout',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog',
      log_format: {
        text_format_source: { inline_string: `${line}\n` },
        formatters: [CEL_FORMATTER],
      },
    },
  };
}

/** What cannot be evaluated is written as `-`. */
function cel(expression: string): string {
  return `%CEL(${expression})%`;
}
