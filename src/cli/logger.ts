import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';

export type { Logger };

/** klog's numbers, as users of ingress-nginx know them: 0 errors, 1 warnings, 2 information, 3 and more debugging. */
function levelOf(verbosity: number): string {
  return ['error', 'warn', 'info'][verbosity] ?? 'debug';
}

export function createLogger(options: { readonly logFormat: 'text' | 'json'; readonly v: number }): Logger {
  const level = levelOf(Math.trunc(options.v));
  if (options.logFormat === 'json') {
    return pino({
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    });
  }
  const destination = pino.destination({ fd: 1, sync: true });
  // A terminal that was closed: nobody reads any more, but the drain goes on.
  destination.on('error', () => {});
  const stream = pretty({
    destination,
    colorize: process.stdout.isTTY === true,
    translateTime: 'SYS:HH:MM:ss.l',
    // What the message says in words already.
    ignore: 'pid,hostname,code,object,field',
  });
  return pino({ level, base: null }, stream);
}
