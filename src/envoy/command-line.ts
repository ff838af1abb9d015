/** How Envoy is started, and how its log lines are read. */

export interface EnvoyArguments {
  /** Path of the bootstrap, JSON. */
  readonly bootstrapPath: string;
  /** Number of worker threads. */
  readonly concurrency: number;
  /** How long connections of a changed or removed filter chain may live on, in seconds. */
  readonly drainTimeS: number;
  readonly logLevel: string;
}

/** Access logs are written when this much time has passed, or 64 KiB are together. */
const FLUSH_INTERVAL_MS = 1000;

/**
 * Each log record is one line of JSON: `%j` is the message as the inside of a JSON string.
 * https://www.envoyproxy.io/docs/envoy/v1.40.0/operations/cli
 */
const LOG_FORMAT = '{"level":"%l","logger":"%n","message":"%j"}';

export function envoyArguments(options: EnvoyArguments): string[] {
  return [
    ...['-c', options.bootstrapPath],
    '--disable-hot-restart',
    ...['--concurrency', String(options.concurrency)],
    ...['--drain-time-s', String(options.drainTimeS)],
    ...['--drain-strategy', 'gradual'],
    ...['--log-level', options.logLevel],
    ...['--log-format', LOG_FORMAT],
    ...['--file-flush-interval-msec', String(FLUSH_INTERVAL_MS)],
    // A field that Envoy does not know must be a refusal: it might be one that protects a backend.
    '--reject-unknown-dynamic-fields',
  ];
}

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

/** What Envoy warns of and nobody can do anything about. */
const QUIET = [
  // It was asked to end; whoever asked knows.
  'caught ENVOY_SIGTERM',
  // Once for every use of a field that we have chosen on purpose.
  'is marked as work-in-progress',
  // The control plane ends or is restarted, which its parent reports.
  'DeltaAggregatedResources gRPC config stream to xds closed',
];

const LEVELS: Readonly<Record<string, LogLevel>> = {
  critical: 'error',
  error: 'error',
  warning: 'warn',
  info: 'info',
  debug: 'debug',
  trace: 'debug',
};

/** Lines that are no records (a wrong argument, the last words of a crash) are errors, shown as they are. */
export function parseLogLine(line: string): { readonly level: LogLevel; readonly message: string } {
  const record = parseRecord(line);
  if (record === undefined) return { level: 'error', message: line };
  if (QUIET.some((text) => record.message.includes(text))) return { level: 'debug', message: record.message };
  return { level: LEVELS[record.level] ?? 'info', message: `${record.logger}: ${record.message}` };
}

interface LogRecord {
  readonly level: string;
  readonly logger: string;
  readonly message: string;
}

function parseRecord(line: string): LogRecord | undefined {
  if (!line.startsWith('{"level":')) return undefined;
  try {
    return JSON.parse(line) as LogRecord;
  } catch {
    return undefined;
  }
}
