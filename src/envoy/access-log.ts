import type {
  envoy_config_accesslog_v3_AccessLog as AccessLog,
  envoy_config_accesslog_v3_AccessLogFilter as AccessLogFilter,
} from '../gen/messages.ts';
import { missingTexts } from '../model/missing-in-log.ts';
import type { StreamListener } from '../model/proxy-model.ts';
import type { RequestLog, TextPattern } from '../model/settings.ts';
import type { StreamLogFormat } from '../model/stream-log-format.ts';
import { CEL_FORMATTER } from './cel.ts';
import { IS_NOT_MARKED } from './filters/request-check.ts';
import { literal } from './format.ts';
import { logOperator } from './log-variables.ts';
import { INGRESS_METADATA } from './policies/log.ts';
import { streamLine } from './stream-log-variables.ts';

export interface AccessLogOptions {
  /** Whether Envoy writes a line for each request to its standard output. Default: no. */
  readonly accessLog?: boolean;
}

/** One line for each connection of a TCP service, or session of a UDP service: what one client port sent and received. */
export function streamAccessLog(format: StreamLogFormat, listener: Omit<StreamListener, 'port'>): AccessLog {
  return stdoutLog(streamLine(format, listener), true);
}

/** One line for each request. */
export function accessLog({ format, escape: how, skip }: RequestLog): AccessLog {
  const missing = missingTexts(format, how);
  const line = format
    .map((part, index) => (typeof part === 'string' ? literal(part) : logOperator(part, how, missing[index] ?? '')))
    .join('');
  return { ...stdoutLog(line, how === 'default'), filter: isLogged(skip) };
}

/** Not what a route says is not to be logged, nor the paths that are skipped. */
function isLogged(skip: readonly TextPattern[]): AccessLogFilter {
  return skip.length === 0 ? IS_LOGGED_ROUTE : { and_filter: { filters: [IS_LOGGED_ROUTE, IS_NOT_MARKED] } };
}

const ROUTE_METADATA = 'xds.route_metadata.filter_metadata';

const IS_LOGGED_ROUTE: AccessLogFilter = {
  extension_filter: {
    name: 'envoy.access_loggers.extension_filters.cel',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter',
      expression: `!('${INGRESS_METADATA}' in ${ROUTE_METADATA} && 'log' in ${ROUTE_METADATA}['${INGRESS_METADATA}'])`,
    },
  },
};

/** To Envoy's open standard output, not to /dev/stdout, which an unprivileged process may not be able to open. */
function stdoutLog(line: string, showsMissing: boolean): AccessLog {
  return {
    name: 'envoy.access_loggers.stdout',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog',
      log_format: {
        text_format_source: { inline_string: `${line}\n` },
        formatters: [CEL_FORMATTER],
        // As `-` or as nothing.
        ...(!showsMissing && { omit_empty_values: true }),
      },
    },
  };
}
