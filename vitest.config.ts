import { defineConfig } from 'vitest/config';

/**
 * Three projects, run one after another. What starts a real Envoy and watches its traffic has the machine to itself;
 * everything else may use two workers, which is what a small machine has.
 */
export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'src/**/*.test.ts',
            'protos/**/*.test.ts',
            'docs/**/*.test.ts',
            'test/*.test.ts',
            'test/support/**/*.test.ts',
            'test/xds/**/*.test.ts',
          ],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'golden', include: ['test/golden/**/*.test.ts'], sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: {
          name: 'envoy',
          include: ['test/scenario/**/*.test.ts', 'test/envoy/**/*.test.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
