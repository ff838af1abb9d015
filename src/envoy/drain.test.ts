import { describe, expect, test } from 'vitest';
import { AdminError, type Traffic } from './admin.ts';
import { type DrainOptions, drainEnvoy } from './drain.ts';

/** An Envoy of which `traffic` is seen, one value after another; the last one stays. */
function adminWith(traffic: readonly Traffic[]) {
  const calls: string[] = [];
  const left = [...traffic];
  return {
    calls,
    failHealthCheck: async () => {
      calls.push('failHealthCheck');
    },
    drainListeners: async () => {
      calls.push('drainListeners');
    },
    traffic: async () => {
      calls.push('traffic');
      return left.length > 1 ? left.shift()! : left[0]!;
    },
  };
}

const none: Traffic = { connections: 0, httpConnections: 0, requests: 0 };
const idle: Traffic = { connections: 1, httpConnections: 1, requests: 0 };
const busy: Traffic = { connections: 1, httpConnections: 1, requests: 1 };
const tcp: Traffic = { connections: 1, httpConnections: 0, requests: 0 };

function drain(options: Pick<DrainOptions, 'admin'> & Partial<DrainOptions>) {
  return drainEnvoy({ gracePeriodMs: 0, deadlineMs: 10_000, signal: new AbortController().signal, ...options });
}

describe('a drain', () => {
  test('tells clients first, then closes the listeners, then waits for connections', async () => {
    const admin = adminWith([busy, idle, none]);
    const waiting: number[] = [];
    expect(await drain({ admin, onWaiting: (connections) => waiting.push(connections) })).toEqual({ kind: 'drained' });
    expect(admin.calls).toEqual(['failHealthCheck', 'drainListeners', 'traffic', 'traffic', 'traffic']);
    expect(waiting).toEqual([1]);
  });

  test('keeps the listeners open during the grace period', async () => {
    const admin = adminWith([none]);
    const startedAt = performance.now();
    const drained = drain({ admin, gracePeriodMs: 200 });
    await Promise.resolve();
    expect(admin.calls).toEqual(['failHealthCheck']);
    await drained;
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(195);
  });

  test('ends at the deadline with what is left', async () => {
    expect(await drain({ admin: adminWith([idle]), deadlineMs: 120 })).toEqual({ kind: 'deadline', connections: 1 });
  });

  test('cuts idle connections when told to', async () => {
    expect(await drain({ admin: adminWith([busy, busy, idle]), quietMs: 80 })).toEqual({ kind: 'drained' });
  });

  test.each([
    ['HTTP requests in flight', busy],
    ['connections of which nobody knows whether they are idle', tcp],
  ])('does not cut %s', async (_, traffic) => {
    const outcome = await drain({ admin: adminWith([traffic]), quietMs: 20, deadlineMs: 200 });
    expect(outcome).toEqual({ kind: 'deadline', connections: 1 });
  });

  test.each([['gracePeriodMs'], ['deadlineMs']])('ends at once when aborted during %s', async (phase) => {
    const abort = new AbortController();
    const drained = drain({ admin: adminWith([busy]), [phase]: 60_000, signal: abort.signal });
    setImmediate(() => abort.abort());
    expect(await drained).toEqual({ kind: 'aborted' });
  });

  test('of an Envoy that does not answer is over', async () => {
    const admin = { ...adminWith([none]), failHealthCheck: () => Promise.reject(new AdminError('no answer')) };
    expect(await drain({ admin })).toEqual({ kind: 'unavailable' });
  });
});
