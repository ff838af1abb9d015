/**
 * `npm test`: runs Vitest and ends with one line, `N passed, N failed`. Arguments go to Vitest (`npm test -- src/files`).
 *
 * Vitest runs as a process of its own, so that a crash of it is a failure like any other; so is a run without tests.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countTests, type VitestReport } from './support/test-report.ts';

const vitest = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs');
const folder = mkdtempSync(join(tmpdir(), 'ingress-xds-tests-'));
const reportFile = join(folder, 'report.json');

const args = [
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${reportFile}`,
  ...process.argv.slice(2),
];
const child = spawn(process.execPath, [vitest, ...args], { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
const [exitCode] = (await once(child, 'close')) as [number | null];

const { passed, failed } = countTests(readReport(), exitCode);
rmSync(folder, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function readReport(): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(reportFile, 'utf8')) as VitestReport;
  } catch {
    return undefined;
  }
}
