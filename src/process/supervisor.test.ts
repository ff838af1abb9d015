import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { type ChildEnd, type Clock, createSupervisor, type Supervisor, type SupervisorOptions } from './supervisor.ts';

/** Time that stands still until a test moves it. */
function createManualClock(): Clock & { advance(ms: number): void; pending(): number[] } {
  let time = 0;
  let timers: { readonly at: number; readonly callback: () => void }[] = [];
  return {
    now: () => time,
    after: (delayMs, callback) => {
      const timer = { at: time + delayMs, callback };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    advance: (ms) => {
      time += ms;
      const due = timers.filter(({ at }) => at <= time);
      timers = timers.filter(({ at }) => at > time);
      for (const { callback } of due) callback();
    },
    pending: () => timers.map(({ at }) => at - time),
  };
}

interface Exit {
  readonly end: ChildEnd;
  readonly restartInMs: number | undefined;
}

let running: Supervisor | undefined;

afterEach(async () => {
  running?.kill();
  await running?.stop({ killAfterMs: 0 });
});

function supervise(script: string, more: Partial<SupervisorOptions> = {}) {
  const exits: Exit[] = [];
  const events = new EventTarget();
  const supervisor = createSupervisor({
    spawn: () => spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'pipe', 'pipe'] }),
    onExit: (end, restartInMs) => {
      exits.push({ end, restartInMs });
      events.dispatchEvent(new Event('exit'));
    },
    ...more,
  });
  running = supervisor;
  const nextExit = async (): Promise<Exit> => {
    await once(events, 'exit');
    return exits.at(-1)!;
  };
  return { supervisor, exits, nextExit };
}

describe('restart', () => {
  test('waits 100 ms, then twice as long each time, never more than 30 s', async () => {
    const clock = createManualClock();
    const { supervisor, nextExit } = supervise('exit 3', { clock });
    supervisor.start();
    const delays: (number | undefined)[] = [];
    for (let life = 0; life < 11; life++) {
      const { end, restartInMs } = await nextExit();
      expect(end).toEqual({ code: 3, signal: undefined, error: undefined });
      delays.push(restartInMs);
      // The plan is made right after the report.
      await Promise.resolve();
      expect(clock.pending()).toEqual([restartInMs]);
      clock.advance(restartInMs!);
    }
    expect(delays).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
  });

  test('begins again with the shortest pause after a life of 30 s', async () => {
    const clock = createManualClock();
    const { supervisor, nextExit } = supervise('read -r line', { clock });
    supervisor.start();
    const dieAfter = async (ms: number) => {
      clock.advance(ms);
      const exit = nextExit();
      supervisor.child()?.stdin?.end();
      const { restartInMs } = await exit;
      await Promise.resolve();
      clock.advance(restartInMs!);
      return restartInMs;
    };
    expect(await dieAfter(10)).toBe(100);
    expect(await dieAfter(29_999)).toBe(200);
    expect(await dieAfter(30_000)).toBe(100);
  });

  test('follows a child that cannot be started', async () => {
    const { supervisor, nextExit } = supervise('', {
      spawn: () => spawn('/nonexistent/envoy', []),
      clock: createManualClock(),
    });
    supervisor.start();
    const { end, restartInMs } = await nextExit();
    expect(end.error?.message).toContain('ENOENT');
    expect(restartInMs).toBe(100);
    expect(supervisor.child()).toBeUndefined();
  });

  test('can be disabled by the report of an exit', async () => {
    const clock = createManualClock();
    const { supervisor, exits } = supervise('exit 2', {
      clock,
      onExit: (end, restartInMs) => {
        exits.push({ end, restartInMs });
        supervisor.disableRestart();
      },
    });
    supervisor.start();
    await once(supervisor.child()!, 'exit');
    expect(exits).toHaveLength(1);
    expect(clock.pending()).toEqual([]);
  });

  test('does not start a second child beside a living one', () => {
    let started = 0;
    const { supervisor } = supervise('read -r line', { onStart: () => started++ });
    supervisor.start();
    supervisor.start();
    expect(started).toBe(1);
  });
});

describe('stop', () => {
  test('asks with the signal and does not restart', async () => {
    const { supervisor, exits } = supervise('read -r line');
    supervisor.start();
    await supervisor.stop({ killAfterMs: 20_000 });
    expect(exits).toEqual([{ end: { code: undefined, signal: 'SIGTERM', error: undefined }, restartInMs: undefined }]);
    expect(supervisor.child()).toBeUndefined();
    supervisor.start();
    expect(supervisor.child()).toBeUndefined();
  });

  test('kills what ignores the signal', async () => {
    const lines: string[] = [];
    const deaf = Promise.withResolvers<void>();
    const { supervisor, exits } = supervise("trap '' TERM; echo deaf; while :; do read -r line; done", {
      onLine: (line) => {
        lines.push(line);
        deaf.resolve();
      },
    });
    supervisor.start();
    await deaf.promise;
    await supervisor.stop({ killAfterMs: 50 });
    expect(exits[0]?.end.signal).toBe('SIGKILL');
  });

  test('asks later where something else asked first', async () => {
    const clock = createManualClock();
    const { supervisor } = supervise('read -r line', { clock });
    supervisor.start();
    const stopped = supervisor.stop({ signalAfterMs: 2_000, killAfterMs: 5_000 });
    expect(clock.pending()).toEqual([2_000, 5_000]);
    supervisor.child()?.stdin?.end();
    await stopped;
    expect(clock.pending()).toEqual([]);
  });

  test('cancels a restart that was planned', async () => {
    const clock = createManualClock();
    const { supervisor, nextExit } = supervise('exit 1', { clock });
    supervisor.start();
    await nextExit();
    await supervisor.stop({ killAfterMs: 0 });
    expect(clock.pending()).toEqual([]);
  });
});

test('hands over the lines of stdout and stderr, also a last one without an end', async () => {
  const lines: string[] = [];
  let child: ChildProcess | undefined;
  const { supervisor } = supervise("printf 'one\\ntw'; printf 'o\\n'; printf 'three' >&2; exit 0", {
    onLine: (line) => lines.push(line),
    onStart: (started) => {
      child = started;
    },
    clock: createManualClock(),
  });
  supervisor.start();
  await once(child!, 'close');
  expect(lines.toSorted()).toEqual(['one', 'three', 'two']);
});
