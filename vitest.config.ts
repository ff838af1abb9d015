import { defineConfig } from 'vitest/config';

/** A busy machine may starve one of many processes; what fails twice in a row is broken. */
const retry = process.env['CI'] ? 1 : 0;

const common = { testTimeout: 30_000, hookTimeout: 60_000, retry };

/** What asks a real Envoy one thing after another, and measures neither time nor traffic: two files at once disturb nobody. */
const behaviour = [
  'test/envoy/behaviour/**/*.test.ts',
  'test/envoy/annotations/*.test.ts',
  'test/envoy/any-annotations.test.ts',
  'test/envoy/any-config-map.test.ts',
  'test/scenario/external-name-safety.test.ts',
  'test/scenario/hostile.test.ts',
  'test/scenario/mutual-tls.test.ts',
  'test/scenario/serve.test.ts',
];

/**
 * Four projects, run one after another. What starts a real Envoy and watches its traffic has the machine to itself;
 * everything else may use two workers, which is what a small machine has.
 */
export default defineConfig({
  test: {
    globalSetup: ['test/support/envoy-setup.ts'],
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...common,
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
        test: { ...common, name: 'golden', include: ['test/golden/**/*.test.ts'], sequence: { groupOrder: 1 } },
      },
      {
        test: { ...common, name: 'behaviour', include: behaviour, sequence: { groupOrder: 2 } },
      },
      {
        test: {
          ...common,
          name: 'envoy',
          include: ['test/scenario/**/*.test.ts', 'test/envoy/**/*.test.ts', 'test/bench/**/*.test.ts'],
          exclude: behaviour,
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
