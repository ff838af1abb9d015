import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

const ENDING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** One Ctrl-C may arrive twice: from the terminal, and from npm, which passes it on to its script. */
export const SAME_REQUEST_MS = 500;

export interface EndRequests {
  /** Resolves with the first signal that asks this process to end. */
  readonly first: Promise<NodeJS.Signals>;
  /** Aborted by the second, with the signal as its reason: whoever asks twice does not want to wait. */
  readonly second: AbortSignal;
  /** From now on signals do again what they do by default. */
  close(): void;
}

export function watchEndRequests(): EndRequests {
  const first = Promise.withResolvers<NodeJS.Signals>();
  const second = new AbortController();
  let firstAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    const now = performance.now();
    if (firstAt === undefined) {
      firstAt = now;
      first.resolve(signal);
    } else if (now - firstAt > SAME_REQUEST_MS) {
      second.abort(signal);
    }
  };
  for (const signal of ENDING) process.on(signal, onSignal);
  return {
    first: first.promise,
    second: second.signal,
    close: () => {
      for (const signal of ENDING) process.off(signal, onSignal);
    },
  };
}

/** Waits, where nothing is left that a signal could cut short but this. To be called while end requests are watched. */
export async function pauseUntilSignal(ms: number): Promise<void> {
  if (ms === 0) return;
  const signalled = new AbortController();
  const onSignal = () => signalled.abort();
  for (const signal of ENDING) process.on(signal, onSignal);
  await delay(ms, undefined, { signal: signalled.signal }).catch(() => {});
  for (const signal of ENDING) process.off(signal, onSignal);
}

/** The exit code of a process that a signal has ended, as shells give it. */
export function signalExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** Where a terminal is closed (SIGHUP), what is written to it fails; that must not end a process before it has drained. */
export function outliveTerminal(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}
