import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** One file after another: each has a cluster, on the same ports. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/cluster/**/*.test.ts'],
    fileParallelism: false,
    // A busy machine may starve one of many processes; what fails twice in a row is broken.
    retry: process.env['CI'] ? 1 : 0,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
