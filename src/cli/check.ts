/** The command `check`: what becomes of Ingresses, before anything runs. */
import type { ClusterState } from '../cluster/cluster-state.ts';
import type { Controller, Publisher } from '../controller.ts';
import type { Engine, Table } from '../derive.ts';
import { createEmitter } from '../envoy/emit.ts';
import type { Build, BuildOptions } from '../ingress/build.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { ProxyModel } from '../model/proxy-model.ts';
import { createNginxEmitter } from '../nginx/emit.ts';
import { checkMarkdown } from './check/markdown.ts';
import { type CheckReport, checkReport } from './check/report.ts';
import { checkSarif } from './check/sarif.ts';
import { checkText } from './check/text.ts';
import { createClient } from './cluster.ts';
import { createClusterSource } from './cluster-source.ts';
import type { ArgumentsOf } from './flags/flag.ts';
import type { checkFlags } from './flags/tool-flags.ts';
import {
  type ClusterArguments,
  checkHttp3OfProxy,
  checkIngressArguments,
  type IngressArguments,
  type SourceArguments,
} from './flags.ts';
import { generateCertificate } from './generated-certificate.ts';
import { createLoop } from './pipeline.ts';
import { compareByText, runOnce, translateBuildOptions } from './run-once.ts';
import { SOME_NGINX } from './translate-nginx.ts';

export interface CheckArguments
  extends SourceArguments,
    ClusterArguments,
    IngressArguments,
    ArgumentsOf<typeof checkFlags> {}

const FORMS: Readonly<Record<CheckArguments['output'], (report: CheckReport) => string>> = {
  text: checkText,
  json: (report) => `${JSON.stringify(report, null, 2)}\n`,
  markdown: checkMarkdown,
  sarif: checkSarif,
};

/** The report to the standard output. Resolves with the exit code: 1 for findings of the severity that `--fail-on` names, or worse. */
export async function check(args: CheckArguments): Promise<number> {
  checkIngressArguments(args);
  checkHttp3OfProxy(args, args.proxy);
  const report = await reportOn(args);
  process.stdout.write(FORMS[args.output](report));
  const { error, warning } = report.totals.findings;
  return error > 0 || (args.failOn === 'warning' && warning > 0) ? 1 : 0;
}

async function reportOn(args: CheckArguments): Promise<CheckReport> {
  const options = translateBuildOptions(args, args.proxy, await generateCertificate('ECDSA'));
  const fromFolder = args.manifests.length > 0;
  const build = { ...options, classNameWithoutObjects: fromFolder };
  const loop = createLoop({ build, publisher: (engine, model) => diagnosing(args.proxy, engine, model) });
  const diagnostics = fromFolder ? await runOnce(args, loop) : await readCluster(args, loop);
  return checkReport({ ...loop, options: build, diagnostics, fromFolder });
}

/** Emits, so that what a proxy cannot take is found too, and publishes nothing. */
function diagnosing(proxy: BuildOptions['proxy'], engine: Engine, model: ProxyModel): Publisher {
  const tables: readonly Table<{ readonly diagnostics: readonly Diagnostic[] }>[] =
    proxy === 'envoy'
      ? createEmitter(engine, model, { ipv6: true }).diagnosticTables
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
  { state, controller }: { readonly state: ClusterState; readonly controller: Controller; readonly build: Build },
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
  return diagnostics.toSorted(compareByText);
}
