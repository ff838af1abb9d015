import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** One file after another: what runs a real nginx and watches its traffic has the machine to itself. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/nginx/**/*.test.ts', 'test/parity/**/*.test.ts'],
    globalSetup: ['test/support/envoy-setup.ts'],
    fileParallelism: false,
    // A busy machine may starve one of many processes; what fails twice in a row is broken.
    retry: process.env['CI'] ? 1 : 0,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
