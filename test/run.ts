/** `npm test`: runs Vitest and ends with one line, `N passed, N failed`. Arguments go to Vitest (`npm test -- src/files`). */
import { runVitest } from './support/run-vitest.ts';

process.exitCode = await runVitest(process.argv.slice(2));
