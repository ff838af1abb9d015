import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** Monotonic milliseconds and timers. `after` returns what cancels the timer. */
export interface Clock {
  now(): number;
  after(delayMs: number, callback: () => void): () => void;
}

/** How a child ended: by itself (`code`), by a signal, or because it could not be started (`error`). */
export interface ChildEnd {
  readonly code: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
  readonly error: Error | undefined;
}

export interface Backoff {
  readonly minMs: number;
  readonly maxMs: number;
  /** A child that lived this long begins again with `minMs`. */
  readonly resetAfterMs: number;
}

export interface SupervisorOptions {
  /** Starts the child. Called once for each life. */
  readonly spawn: () => ChildProcess;
  readonly onStart?: (child: ChildProcess) => void;
  /** Called before the next life is planned, so that it may call `disableRestart`. `restartInMs`: absent if there is none. */
  readonly onExit?: (end: ChildEnd, restartInMs: number | undefined) => void;
  /** Every line that the child writes to a stdout or stderr that is a pipe, without its end of line. */
  readonly onLine?: (line: string) => void;
  readonly backoff?: Backoff;
  readonly clock?: Clock;
}

export interface StopOptions {
  /** Asks the child to end. Default: SIGTERM. */
  readonly signal?: NodeJS.Signals;
  /** When to ask, counted from the call; later than 0 if something else has already asked more politely. */
  readonly signalAfterMs?: number;
  /** When to kill what has not ended, counted from the call. */
  readonly killAfterMs: number;
}

/** Keeps one child process alive until it is stopped. */
export interface Supervisor {
  /** Starts the child; nothing happens if it runs already or restarts are disabled. */
  start(): void;
  /** The child that runs now. */
  child(): ChildProcess | undefined;
  /** The child may live on, but this is its last life. */
  disableRestart(): void;
  /** Ends the child for good. Resolves when it has ended; at once if none runs. */
  stop(options: StopOptions): Promise<void>;
  /** Ends the child for good, without asking it. */
  kill(): void;
}

const DEFAULT_BACKOFF: Backoff = { minMs: 100, maxMs: 30_000, resetAfterMs: 30_000 };

const realClock: Clock = {
  now: () => performance.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Does nothing before `start`. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const clock = options.clock ?? realClock;
  const backoff = options.backoff ?? DEFAULT_BACKOFF;
  let child: ChildProcess | undefined;
  let ended = Promise.resolve();
  let canRestart = true;
  let delayMs: number | undefined;
  let cancelRestart = () => {};

  function start(): void {
    if (child !== undefined || !canRestart) return;
    cancelRestart();
    const startedAt = clock.now();
    const life = Promise.withResolvers<void>();
    const current = options.spawn();
    child = current;
    ended = life.promise;
    forwardLines(current.stdout, options.onLine);
    forwardLines(current.stderr, options.onLine);
    onceEnded(current, (end) => {
      child = undefined;
      delayMs = nextDelay(backoff, delayMs, clock.now() - startedAt);
      options.onExit?.(end, canRestart ? delayMs : undefined);
      if (canRestart) cancelRestart = clock.after(delayMs, start);
      life.resolve();
    });
    if (current.pid !== undefined) options.onStart?.(current);
  }

  function disableRestart(): void {
    canRestart = false;
    cancelRestart();
  }

  async function stop({ signal = 'SIGTERM', signalAfterMs = 0, killAfterMs }: StopOptions): Promise<void> {
    disableRestart();
    const current = child;
    if (current === undefined) return;
    const cancels = [
      clock.after(signalAfterMs, () => current.kill(signal)),
      clock.after(killAfterMs, () => current.kill('SIGKILL')),
    ];
    await ended;
    for (const cancel of cancels) cancel();
  }

  function kill(): void {
    disableRestart();
    child?.kill('SIGKILL');
  }

  return { start, child: () => child, disableRestart, stop, kill };
}

/** The pause before the next life: doubled with each short life, from `minMs` to `maxMs`. */
function nextDelay(backoff: Backoff, lastDelayMs: number | undefined, livedMs: number): number {
  if (lastDelayMs === undefined || livedMs >= backoff.resetAfterMs) return backoff.minMs;
  return Math.min(lastDelayMs * 2, backoff.maxMs);
}

/** A child that cannot be started has no `exit` event, only an `error`; errors of a living child are not its end. */
function onceEnded(child: ChildProcess, callback: (end: ChildEnd) => void): void {
  child.on('error', (error) => {
    if (child.pid === undefined) callback({ code: undefined, signal: undefined, error });
  });
  child.once('exit', (code, signal) => {
    callback({ code: code ?? undefined, signal: signal ?? undefined, error: undefined });
  });
}

function forwardLines(stream: Readable | null, onLine: ((line: string) => void) | undefined): void {
  if (stream === null) return;
  createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => onLine?.(line));
}
