/** The command `check`: what becomes of Ingresses, before anything runs. */
import type { ArgumentsOf } from './flags/flag.ts';
import type { checkFlags } from './flags/tool-flags.ts';
import {
  type ClusterArguments,
  checkHttp3OfProxy,
  checkIngressArguments,
  type IngressArguments,
  type SourceArguments,
} from './flags.ts';
import { readOnce } from './run-once.ts';
import { createWorld } from './world.ts';

export interface CheckArguments
  extends SourceArguments,
    ClusterArguments,
    IngressArguments,
    ArgumentsOf<typeof checkFlags> {}

/** The report to the standard output. Resolves with the exit code: 1 for findings of the severity that `--fail-on` names, or worse. */
export async function check(args: CheckArguments): Promise<number> {
  checkIngressArguments(args);
  checkHttp3OfProxy(args, args.proxy);
  const world = createWorld();
  const reading = args.manifests.length > 0 ? readOnce(args, world.state) : undefined;
  // Most modules are needed only now; they are loaded while a thread parses, which they would keep from its beginning.
  await reading?.underWay;
  const { reportOn } = await import('./check/world.ts');
  const { write } = await import('./check/forms.ts');
  const report = await reportOn(args, world, reading);
  process.stdout.write(write(report, args.output));
  const nothing = report.findings.find(({ code }) => code === 'IngressesMissing');
  if (nothing) process.stderr.write(`warning: ${nothing.message}\n`);
  const { error, warning } = report.totals.findings;
  return error > 0 || (args.failOn === 'warning' && warning > 0) ? 1 : 0;
}
