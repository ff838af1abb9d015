/**
 * `npm run test:cluster`: builds Kubernetes once, and runs the tests of this folder in a network namespace of their own. Arguments
 * go to Vitest (`npm run test:cluster -- smoke`). The last line is `N passed, N failed`.
 */
import { join } from 'node:path';
import { runVitest } from '../support/run-vitest.ts';
import { createEntrance } from './support/enter.ts';
import { signalInside } from './support/namespace.ts';
import { prepare } from './support/prepare.ts';

try {
  await prepare((line) => console.log(line));
  const config = ['--config', join(import.meta.dirname, 'vitest.config.ts')];
  const entrance = createEntrance();
  const args = [...config, ...process.argv.slice(2)];
  process.exitCode = await runVitest(args, { wrapper: entrance.command, signal: signalInside });
  entrance.close();
} catch (error) {
  console.error(`test:cluster: ${(error as Error).message}`);
  console.log('0 passed, 1 failed');
  process.exitCode = 1;
}
