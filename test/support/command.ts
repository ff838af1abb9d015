/** The command line as a process of its own, as a user starts it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface Command {
  readonly pid: number;
  readonly process: ChildProcess;
  /** Everything that was printed so far, on both outputs. */
  output(): string;
  /** Resolves when the output matches. Rejects when the process ends, or after 90 s. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves with the exit code or the signal. */
  readonly exit: Promise<number | NodeJS.Signals>;
  /** Kills the process unless it has ended, and waits for its end. */
  kill(): Promise<void>;
}

const DEADLINE_MS = 90_000;
const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

export function startCommand(args: readonly string[], env: Readonly<Record<string, string>> = {}): Command {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let output = '';
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const check of waiting) check();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      wake();
    });
  }
  let ended = false;
  const exit = once(child, 'close').then(([code, signal]) => {
    ended = true;
    wake();
    return (code ?? signal) as number | NodeJS.Signals;
  });
  return {
    pid: child.pid!,
    process: child,
    output: () => output,
    exit,
    printed: (pattern) => {
      const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
      const check = () => {
        const match = pattern.exec(output);
        if (match) resolve(match);
        else if (ended) reject(new Error(`ended without ${pattern}:\n${output}`));
      };
      const timer = setTimeout(() => reject(new Error(`did not print ${pattern}:\n${output}`)), DEADLINE_MS);
      waiting.add(check);
      check();
      return promise.finally(() => {
        clearTimeout(timer);
        waiting.delete(check);
      });
    },
    kill: async () => {
      if (!ended) child.kill('SIGKILL');
      await exit;
    },
  };
}

/** Runs a command to its end. */
export async function runCommand(
  args: readonly string[],
): Promise<{ readonly code: unknown; readonly output: string }> {
  const command = startCommand(args);
  const code = await command.exit;
  return { code, output: command.output() };
}
