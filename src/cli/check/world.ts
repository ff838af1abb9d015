import type { CheckArguments } from '../check.ts';
import { createLoop } from '../loop.ts';
import { type Reading, translateBuildOptions } from '../run-once.ts';
import type { World } from '../world.ts';
import { type CheckReport, checkReport } from './report.ts';

/**
 * Emits, so that what the proxy cannot take is found too, and publishes nothing.
 * @param reading of manifests; absent: the cluster is read.
 */
export async function reportOn(args: CheckArguments, world: World, reading: Reading | undefined): Promise<CheckReport> {
  const fromFolder = reading !== undefined;
  const options = { ...translateBuildOptions(args, args.proxy), classNameWithoutObjects: fromFolder };
  const { diagnosticTables } = await (args.proxy === 'envoy' ? import('./envoy.ts') : import('./nginx.ts'));
  const loop = createLoop({
    world,
    build: options,
    publisher: (engine, model) => ({ diagnosticTables: diagnosticTables(engine, model), publish: publishNothing }),
  });
  const diagnostics = reading
    ? await reading.settle(loop.controller)
    : await (await import('./cluster.ts')).readCluster(args, loop);
  return checkReport({ ...loop, options, diagnostics, fromFolder });
}

// biome-ignore lint/correctness/useYield: nothing is published.
function* publishNothing(): Generator<void, undefined> {
  return undefined;
}
