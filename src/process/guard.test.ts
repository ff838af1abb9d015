import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { createGuard } from './guard.ts';

function startSleeper(): ChildProcess {
  return spawn('/bin/sh', ['-c', 'read -r line'], { stdio: ['pipe', 'ignore', 'ignore'] });
}

test('a guard that is stopped leaves the watched processes alone', async () => {
  const guard = createGuard();
  const sleeper = startSleeper();
  guard.start();
  guard.watch(sleeper.pid!);
  await guard.stop();
  expect(sleeper.exitCode ?? sleeper.signalCode).toBeNull();
  sleeper.stdin?.end();
  await once(sleeper, 'exit');
  // It ended by its input, not by a signal.
  expect(sleeper.signalCode).toBeNull();
});

test('stopping a guard that was never started does nothing', async () => {
  await createGuard().stop();
});
