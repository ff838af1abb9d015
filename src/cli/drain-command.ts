import { createAdmin } from '../envoy/admin.ts';
import { type DrainOutcome, drainEnvoy } from '../envoy/drain.ts';
import type { ArgumentsOf } from './flags/flag.ts';
import type { drainFlags } from './flags/tool-flags.ts';
import { UsageError } from './flags.ts';

export interface DrainArguments extends ArgumentsOf<typeof drainFlags> {}

/**
 * The command `drain`: empties an Envoy that `run` does not own, before somebody else ends it. Returns the exit code: 0 also where
 * Envoy does not answer, since a hook that fails only makes noise about a container that ends in any case; 1 where connections are
 * left.
 * @throws UsageError for times that cannot be.
 */
export async function drain(args: DrainArguments): Promise<number> {
  const { adminSocket, shutdownGracePeriod, drainTimeout } = args;
  for (const [flag, seconds] of Object.entries({
    'shutdown-grace-period': shutdownGracePeriod,
    'drain-timeout': drainTimeout,
  })) {
    if (!Number.isFinite(seconds) || seconds < 0) throw new UsageError(`--${flag}: must be a number, 0 or more`);
  }
  const outcome = await drainEnvoy({
    admin: createAdmin({ socketPath: adminSocket }),
    gracePeriodMs: shutdownGracePeriod * 1_000,
    deadlineMs: drainTimeout * 1_000,
    // A signal ends the process, which leaves Envoy as it is.
    signal: new AbortController().signal,
  });
  process.stderr.write(`${describe(outcome, adminSocket)}\n`);
  return outcome.kind === 'deadline' || outcome.kind === 'aborted' ? 1 : 0;
}

function describe(outcome: DrainOutcome, adminSocket: string): string {
  switch (outcome.kind) {
    case 'drained':
      return 'Drained';
    case 'deadline':
      return `The time to drain is over; connections that are left: ${outcome.connections}`;
    case 'aborted':
      return 'The drain was cut short';
    case 'unavailable':
      return `No Envoy answers at ${adminSocket}`;
  }
}
