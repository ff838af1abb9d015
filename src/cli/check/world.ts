import type { Controller, Publisher } from '../../controller.ts';
import type { Engine, Table } from '../../derive.ts';
import { createEmitter } from '../../envoy/emit.ts';
import { createChecker } from '../../envoy/encoder.ts';
import type { BuildOptions } from '../../ingress/build.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import type { ProxyModel } from '../../model/proxy-model.ts';
import { createNginxEmitter } from '../../nginx/emit.ts';
import type { CheckArguments } from '../check.ts';
import { createClient } from '../cluster.ts';
import { createClusterSource } from '../cluster-source.ts';
import { createLoop } from '../pipeline.ts';
import { type Reading, sortByText, translateBuildOptions } from '../run-once.ts';
import { SOME_NGINX } from '../translate-nginx.ts';
import type { World } from '../world.ts';
import { type CheckReport, checkReport } from './report.ts';

/** @param reading of manifests; absent: the cluster is read. */
export async function reportOn(args: CheckArguments, world: World, reading: Reading | undefined): Promise<CheckReport> {
  const fromFolder = reading !== undefined;
  const options = { ...translateBuildOptions(args, args.proxy), classNameWithoutObjects: fromFolder };
  const publisher = (engine: Engine, model: ProxyModel) => diagnosing(args.proxy, engine, model);
  const loop = createLoop({ world, build: options, publisher });
  const diagnostics = await (reading?.settle(loop.controller) ?? readCluster(args, loop));
  return checkReport({ ...loop, options, diagnostics, fromFolder });
}

/** Emits, so that what a proxy cannot take is found too, and publishes nothing. */
function diagnosing(proxy: BuildOptions['proxy'], engine: Engine, model: ProxyModel): Publisher {
  const tables: readonly Table<{ readonly diagnostics: readonly Diagnostic[] }>[] =
    proxy === 'envoy'
      ? createEmitter(engine, model, { ipv6: true }, createChecker()).diagnosticTables
      : createNginxEmitter(engine, model, { ...SOME_NGINX, ipv6: true }).diagnosticTables;
  return { diagnosticTables: tables, publish: publishNothing };
}

// biome-ignore lint/correctness/useYield: nothing is published.
function* publishNothing(): Generator<void, undefined> {
  return undefined;
}

/** Reads everything once, with the rights of whoever asks. */
async function readCluster(
  args: CheckArguments,
  { state, controller }: World & { readonly controller: Controller },
): Promise<Diagnostic[]> {
  const source = createClusterSource(args, {
    client: createClient(args),
    state,
    onApplied: () => {},
    onDiagnostics: () => {},
    onError: (error) => {
      throw error;
    },
  });
  await source.start();
  await controller.start();
  const diagnostics = [...source.diagnostics(), ...controller.currentDiagnostics()];
  await source.stop();
  controller.stop();
  return sortByText(diagnostics);
}
