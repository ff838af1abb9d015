import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { UsageError, type WaitShutdownArguments } from './flags.ts';
import { processStart } from './process-life.ts';
import { type FolderOwner, findFolderOwners } from './runtime-folder.ts';

const POLL_MS = 50;

/**
 * The command `wait-shutdown`, for the preStop hook of a container: asks the control plane of this container to end, and waits until
 * it has drained and stopped what it runs. What remains of it then only waits for its pod to be removed. Resolves with the exit code:
 * 0 also when there is nothing to end.
 */
export async function waitShutdown(args: WaitShutdownArguments): Promise<number> {
  const owner = choose(await findFolderOwners(tmpdir()), args.pid);
  if (owner === undefined) {
    process.stderr.write('ingress-xds: no control plane is running here\n');
    return 0;
  }
  if (!endProcess(owner.pid)) return 0;
  while (await isBusy(owner)) await delay(POLL_MS);
  return 0;
}

function choose(owners: readonly FolderOwner[], pid: number | undefined): FolderOwner | undefined {
  if (pid !== undefined) return owners.find((owner) => owner.pid === pid);
  if (owners.length < 2) return owners[0];
  throw new UsageError(`several are running: give --pid, one of ${owners.map((owner) => owner.pid).join(', ')}`);
}

/** Whether there was somebody to ask. */
function endProcess(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

async function isBusy({ pid, folder, start }: FolderOwner): Promise<boolean> {
  const remains = await stat(folder).then(
    () => true,
    () => false,
  );
  return remains && (await processStart(pid)) === start;
}
