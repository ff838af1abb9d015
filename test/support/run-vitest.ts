import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countTests, type VitestReport } from './test-report.ts';

const vitest = join(import.meta.dirname, '../../node_modules/vitest/vitest.mjs');

export interface RunOptions {
  /** A command that runs the command line that follows it. */
  readonly wrapper?: readonly string[];
  /** How a signal reaches Vitest; default: the child gets it. */
  readonly signal?: (child: ChildProcess, signal: NodeJS.Signals) => void;
}

/**
 * Runs Vitest to its end, prints `N passed, N failed` as last line and resolves with the exit code.
 *
 * It is a process of its own, so that a crash of it is a failure like any other; so is a run without tests.
 */
export async function runVitest(
  args: readonly string[],
  { wrapper = [], signal = (child, which) => child.kill(which) }: RunOptions = {},
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'ingress-xds-tests-'));
  const reportFile = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  const [program = '', ...rest] = [...wrapper, process.execPath, vitest, 'run', ...reporters, ...args];
  const child = spawn(program, rest, { stdio: 'inherit' });
  for (const which of ['SIGINT', 'SIGTERM'] as const) process.on(which, () => signal(child, which));
  const [exitCode] = (await once(child, 'close')) as [number | null];

  const { passed, failed } = countTests(readReport(reportFile), exitCode);
  rmSync(folder, { recursive: true });
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

function readReport(path: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as VitestReport;
  } catch {
    return undefined;
  }
}
