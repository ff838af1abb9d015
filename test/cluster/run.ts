/**
 * `npm run test:cluster`: builds Kubernetes once, and runs the tests of this folder in a network namespace of their own. Arguments
 * go to Vitest (`npm run test:cluster -- smoke`). The last line is `N passed, N failed`.
 */
import { join } from 'node:path';
import { runVitest } from '../support/run-vitest.ts';
import { signalInside, UNSHARE } from './support/namespace.ts';
import { prepare } from './support/prepare.ts';

try {
  await prepare((line) => console.log(line));
  const config = ['--config', join(import.meta.dirname, 'vitest.config.ts')];
  const inside = [...UNSHARE, process.execPath, join(import.meta.dirname, 'support/inside.ts')];
  const args = [...config, ...process.argv.slice(2)];
  process.exitCode = await runVitest(args, { wrapper: inside, signal: signalInside });
} catch (error) {
  console.error(`test:cluster: ${(error as Error).message}`);
  console.log('0 passed, 1 failed');
  process.exitCode = 1;
}
