/** The command `run` as users start it: a process tree of its own, with an Envoy, over a folder of manifests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { childrenOf } from '../process/processes.ts';
import { freePorts } from '../static-envoy.ts';

const MAIN = join(import.meta.dirname, '../../../src/cli/main.ts');

/** A line of the log in its JSON form. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  /** Of a Diagnostic. */
  readonly code?: string;
  /** `Ingress shop/web` */
  readonly object?: string;
  readonly field?: string;
}

export interface RunningCommand {
  readonly pid: number;
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly healthPort: number;
  /** Everything it has logged. */
  readonly log: readonly LogLine[];
  /** The parent, the control plane, Envoy and the guard. */
  processes(): number[];
  controlPlane(): number;
  /** Resolves with the exit code, or the signal. */
  readonly exit: Promise<number | NodeJS.Signals>;
  close(): Promise<void>;
}

/** Hostile folders take their time, and machines may be busy. */
const START_DEADLINE_MS = 100_000;

/** Resolves when it serves; rejects with what it has logged when it ends before, or takes too long. */
export async function startRun(folder: string, flags: readonly string[] = []): Promise<RunningCommand> {
  const [httpPort = 0, httpsPort = 0, healthPort = 0] = await freePorts(3);
  const ports = ['--http-port', httpPort, '--https-port', httpsPort, '--healthz-port', healthPort].map(String);
  const args = ['run', '--manifests', folder, ...ports, '--log-format', 'json', '--envoy-concurrency', '1', ...flags];
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const pid = child.pid ?? 0;
  const log: LogLine[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => log.push(parseLine(line)));
  createInterface({ input: child.stderr }).on('line', (line) => log.push(parseLine(line)));
  let ended = false;
  const exit = once(child, 'close').then(([code, signal]) => {
    ended = true;
    return (code ?? signal) as number | NodeJS.Signals;
  });
  const close = async () => {
    // A second request would cut the drain short; there are no connections to wait for.
    if (!ended) child.kill('SIGTERM');
    await exit;
  };
  const deadline = performance.now() + START_DEADLINE_MS;
  while (!log.some(({ msg }) => msg.startsWith('serving HTTP on port'))) {
    if (ended || performance.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`it does not serve:\n${log.map(({ msg }) => msg).join('\n')}`);
    }
    await delay(20);
  }
  return {
    pid,
    httpPort,
    httpsPort,
    healthPort,
    log,
    processes: () => [pid, ...descendantsOf(pid)],
    controlPlane: () => childrenOf(pid).find(({ command }) => command.includes('control-plane'))?.pid ?? 0,
    exit,
    close,
  };
}

/** Not every line is from the product's logger: a crash prints a stack. */
function parseLine(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return { level: 'unparsed', msg: line };
  }
}

function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child.pid, ...descendantsOf(child.pid)]);
}
