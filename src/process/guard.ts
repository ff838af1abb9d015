import { type ChildProcess, spawn } from 'node:child_process';
import { createSupervisor } from './supervisor.ts';

/**
 * Ends the watched processes when this process dies, however it dies: nothing of this process runs after a SIGKILL.
 *
 * A shell reads the list of processes from a pipe whose other end only this process holds (Node opens its pipes with
 * close-on-exec, so no other child has it). The end of the pipe is the end of this process.
 */
export interface Guard {
  start(): void;
  watch(pid: number): void;
  /** To be called when a watched process has ended: its number may come back as another process. */
  forget(pid: number): void;
  /** Ends the guard alone; the watched processes live on. */
  stop(): Promise<void>;
}

/**
 * The first list is in the arguments, so that a guard never runs without one; each line is the whole list anew. The shell
 * does not end by a signal that it can ignore: only the pipe counts. Processes are asked first, so that logs are written
 * out, and killed a second later if they have not ended. Those that lead a process group end with all of it: the workers of
 * nginx outlive a master that is killed.
 */
const SCRIPT = `
trap '' HUP INT TERM
pids=$*
while read -r line; do pids=$line; done
[ -n "$pids" ] || exit 0
end() { for pid in $pids; do kill "-$1" "-$pid" || kill "-$1" "$pid"; done; }
end TERM
sleep 1
end KILL
`;

const STOP_TIMEOUT_MS = 2_000;

export function createGuard(): Guard {
  const pids = new Set<number>();
  const supervisor = createSupervisor({ spawn: () => spawnGuard(pids), onStart: tell });

  function tell(guard: ChildProcess | undefined): void {
    guard?.stdin?.write(`${[...pids].join(' ')}\n`);
  }

  return {
    start: supervisor.start,
    watch: (pid) => {
      pids.add(pid);
      tell(supervisor.child());
    },
    forget: (pid) => {
      pids.delete(pid);
      tell(supervisor.child());
    },
    stop: async () => {
      pids.clear();
      supervisor.disableRestart();
      const guard = supervisor.child();
      tell(guard);
      guard?.stdin?.end();
      await supervisor.stop({ signal: 'SIGKILL', signalAfterMs: STOP_TIMEOUT_MS, killAfterMs: STOP_TIMEOUT_MS });
    },
  };
}

function spawnGuard(pids: Iterable<number>): ChildProcess {
  // A session of its own: what is sent to the terminal's processes does not reach it.
  const guard = spawn('/bin/sh', ['-c', SCRIPT, 'guard', ...Array.from(pids, String)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // A guard that was killed is replaced; what was written to it in between is written again to the next one.
  guard.stdin.on('error', () => {});
  return guard;
}
