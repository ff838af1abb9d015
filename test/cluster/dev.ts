/** `npm run dev:cluster`: the test cluster with an echo and an Ingress, for trying things by hand. Ctrl-C ends it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createEntrance } from './support/enter.ts';
import { signalInside } from './support/namespace.ts';
import { prepare } from './support/prepare.ts';

/** The process that others enter by its number outside: this shell, which becomes `unshare`. */
const TELL_PID = ['sh', '-c', 'HOST_PID=$$ exec "$@"', 'sh'] as const;

try {
  await prepare((line) => console.log(line));
  const entrance = createEntrance();
  const inside = [process.execPath, join(import.meta.dirname, 'support/dev-cluster.ts')];
  const [program, ...args] = [...TELL_PID, ...entrance.command, ...inside];
  const child = spawn(program, args, { stdio: 'inherit' });
  // At a terminal Ctrl-C reaches the processes inside as well, and they end in order.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => signalInside(child, 'SIGTERM'));
  const [code] = (await once(child, 'close')) as [number | null];
  entrance.close();
  process.exitCode = code ?? 1;
} catch (error) {
  console.error(`dev:cluster: ${(error as Error).message}`);
  process.exitCode = 1;
}
