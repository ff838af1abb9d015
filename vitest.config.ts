import { defineConfig } from 'vitest/config';

const timeouts = { testTimeout: 30_000, hookTimeout: 60_000 };

/**
 * Three projects, run one after another. What starts a real Envoy and watches its traffic has the machine to itself;
 * everything else may use two workers, which is what a small machine has.
 */
export default defineConfig({
  test: {
    globalSetup: ['test/support/envoy-setup.ts'],
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...timeouts,
          name: 'unit',
          include: [
            'src/**/*.test.ts',
            'protos/**/*.test.ts',
            'test/*.test.ts',
            'test/support/**/*.test.ts',
            'test/xds/**/*.test.ts',
          ],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: { ...timeouts, name: 'golden', include: ['test/golden/**/*.test.ts'], sequence: { groupOrder: 1 } },
      },
      {
        test: {
          ...timeouts,
          name: 'envoy',
          // A busy machine may starve one of many processes; what fails twice in a row is broken.
          retry: process.env['CI'] ? 1 : 0,
          include: ['test/scenario/**/*.test.ts', 'test/envoy/**/*.test.ts', 'test/bench/**/*.test.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
