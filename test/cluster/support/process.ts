/** A program that a test starts, with its output in a file. It ends with the test process, however that ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ProcessOptions {
  readonly name: string;
  readonly program: string;
  readonly args?: readonly string[];
  /** Where NAME.log is; a second process of the same name appends to it. */
  readonly folder: string;
  /** On top of that of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  readonly child: ChildProcess;
  running(): boolean;
  /** Resolves with the exit code or the signal. */
  readonly exit: Promise<number | NodeJS.Signals>;
  /** Everything that it has printed, without what others of its name have. */
  log(): string;
  signal(signal: NodeJS.Signals): void;
  /** Sends the signal, after `killAfterMs` SIGKILL, and waits for the end. Nothing happens when it has ended. */
  stop(signal?: NodeJS.Signals, killAfterMs?: number): Promise<number | NodeJS.Signals>;
}

const KILL_AFTER_MS = 8_000;

export function startProcess({ name, program, args = [], folder, env }: ProcessOptions): RunningProcess {
  const logPath = join(folder, `${name}.log`);
  const output = openSync(logPath, 'a');
  const logBegin = fstatSync(output).size;
  // The kernel kills it when the process that started it dies: no leftovers on the fixed ports of the cluster.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', program, ...args], {
    stdio: ['ignore', output, output],
    env: { ...process.env, ...env },
  });
  closeSync(output);
  const running = () => child.exitCode === null && child.signalCode === null;
  const exit = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  // Who waits for the end learns of the error; nobody else needs to.
  exit.catch(() => {});
  const signal = (which: NodeJS.Signals) => {
    if (running()) child.kill(which);
  };
  return {
    name,
    pid: child.pid ?? 0,
    child,
    running,
    exit,
    log: () => readFileSync(logPath).subarray(logBegin).toString(),
    signal,
    stop: async (which = 'SIGTERM', killAfterMs = KILL_AFTER_MS) => {
      signal(which);
      // A stopped process gets no other signal but this.
      signal('SIGCONT');
      const timer = setTimeout(() => signal('SIGKILL'), killAfterMs);
      return await exit.finally(() => clearTimeout(timer));
    },
  };
}

/** The last lines of a log, for errors. */
export function tail(process: RunningProcess, lines = 30): string {
  return `${process.name}:\n${process.log().trimEnd().split('\n').slice(-lines).join('\n')}`;
}
