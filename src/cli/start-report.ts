import type { Readiness } from '../console/health.ts';
import type { Diagnostic } from '../model/diagnostic.ts';

/** What the first reading of all objects waits for: what the API server does not do, if it is that. */
export function describeReading(diagnostics: readonly Diagnostic[]): string {
  const [fault] = diagnostics.filter(({ code }) => code === 'ApiServerRefuses' || code === 'ApiServerUnavailable');
  return fault === undefined ? 'reading the objects' : fault.message;
}

const INTERVAL_MS = 10_000;

/** Says every ten seconds what a start is waiting for, until it is ready or `signal` is aborted. */
export function reportStart(options: {
  readonly current: () => Readiness;
  readonly tell: (message: string) => void;
  readonly signal: AbortSignal;
}): void {
  const { current, tell, signal } = options;
  const timer = setInterval(() => {
    const { ready, reason } = current();
    if (ready) clearInterval(timer);
    else tell(`not ready yet: ${reason}`);
  }, INTERVAL_MS).unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}
