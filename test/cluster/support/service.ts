/** One program of the cluster, which tests stop, kill, freeze and start again. */
import { eventually, HopelessError } from './eventually.ts';
import { type ProcessOptions, type RunningProcess, startProcess, tail } from './process.ts';

export interface ClusterService {
  /** Resolves when it is ready. `moreArgs` are for this time only. */
  start(moreArgs?: readonly string[]): Promise<void>;
  /** Resolves when it has ended. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  restart(options?: { readonly signal?: NodeJS.Signals; readonly args?: readonly string[] }): Promise<void>;
  /** Freezes it: connections stay open, nobody answers. `stop` works on it, too. */
  pause(): void;
  resume(): void;
  running(): boolean;
  log(): string;
}

export interface ServiceOptions extends ProcessOptions {
  readonly ready: () => Promise<boolean>;
}

const READY_TIMEOUT_MS = 60_000;

export function createService({ ready, ...options }: ServiceOptions): ClusterService {
  let current: RunningProcess | undefined;
  const running = () => current?.running() ?? false;
  const start = async (moreArgs: readonly string[] = []) => {
    if (running()) throw new Error(`${options.name} runs already`);
    const started = startProcess({ ...options, args: [...(options.args ?? []), ...moreArgs] });
    current = started;
    const isReady = async () => {
      if (!started.running()) throw new HopelessError(`${options.name} has ended:\n${tail(started)}`);
      return await ready();
    };
    await eventually(`${options.name} ready`, isReady, { timeoutMs: READY_TIMEOUT_MS, describe: () => tail(started) });
  };
  const stop = async (signal?: NodeJS.Signals) => void (await current?.stop(signal));
  return {
    start,
    stop,
    restart: async ({ signal, args } = {}) => {
      await stop(signal);
      await start(args);
    },
    pause: () => current?.signal('SIGSTOP'),
    resume: () => current?.signal('SIGCONT'),
    running,
    log: () => current?.log() ?? '',
  };
}
