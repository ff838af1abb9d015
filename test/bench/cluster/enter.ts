import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createEntrance } from '../../cluster/support/enter.ts';
import { signalInside } from '../../cluster/support/namespace.ts';
import { prepare } from '../../cluster/support/prepare.ts';
import type { ClusterBenchOptions } from './measure.ts';

/** Runs the bench in a test cluster, in a network namespace of its own. Resolves with the exit code. */
export async function benchInCluster(options: ClusterBenchOptions & { readonly json: boolean }): Promise<number> {
  await prepare((line) => console.error(line));
  const entrance = createEntrance();
  const [program, ...args] = [...entrance.command, process.execPath, join(import.meta.dirname, 'inside.ts')];
  const child = spawn(program!, [...args, JSON.stringify(options)], { stdio: 'inherit' });
  const end = () => signalInside(child, 'SIGTERM');
  process.on('SIGINT', () => {}).on('SIGTERM', end);
  const [code] = (await once(child, 'close')) as [number | null];
  entrance.close();
  return code ?? 1;
}
