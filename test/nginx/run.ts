/**
 * `npm run test:nginx`: what needs a real nginx, with the modules for Lua, streams and brotli. Root on Debian gets them installed.
 * Arguments go to Vitest (`npm run test:nginx -- golden`). The last line is `N passed, N failed`.
 */
import { join } from 'node:path';
import { runVitest } from '../support/run-vitest.ts';
import { prepareNginx } from './support/prepare.ts';

try {
  console.log(await prepareNginx((line) => console.log(line)));
  process.exitCode = await runVitest([
    '--config',
    join(import.meta.dirname, 'vitest.config.ts'),
    ...process.argv.slice(2),
  ]);
} catch (error) {
  console.error(`test:nginx: ${(error as Error).message}`);
  console.log('0 passed, 1 failed');
  process.exitCode = 1;
}
