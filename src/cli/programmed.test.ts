import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import type { ObjectKey } from '../model/object-ref.ts';
import type { XdsEvent } from '../xds/observer.ts';
import { createProgrammedTracker, type ProgrammedTracker } from './programmed.ts';

let told: ObjectKey[][];
let tracker: ProgrammedTracker;

beforeEach(() => {
  told = [];
  tracker = createProgrammedTracker((keys) => told.push([...keys]));
});

const opened = (stream: number): XdsEvent => ({ kind: 'opened', stream, peer: '' });
const identified = (stream: number): XdsEvent => ({ kind: 'identified', stream, node: undefined });
const reached = (stream: number, seq: number): XdsEvent => ({ kind: 'programmed', stream, seq });
const closed = (stream: number): XdsEvent => ({ kind: 'closed', stream, status: undefined });

function observe(...events: XdsEvent[]): void {
  for (const event of events) tracker.observe(event);
}

test('nothing is programmed without a proxy', () => {
  tracker.passed(['shop/web'], 1);
  observe(opened(1));
  expect(told).toEqual([]);
  expect(tracker.programmed('shop/web')).toBe(false);
});

test('an Ingress is programmed when the last proxy has its commit', () => {
  observe(opened(1), identified(1), opened(2), identified(2));
  tracker.passed(['shop/web', 'shop/api'], 1);
  observe(reached(1, 1));
  expect(told).toEqual([]);
  observe(reached(2, 1));
  expect(told).toEqual([['shop/web', 'shop/api']]);
});

test('a later commit counts for what waits for an earlier one', () => {
  observe(identified(1));
  tracker.passed(['shop/a'], 1);
  tracker.passed(['shop/b'], 2);
  tracker.passed(['shop/c'], 4);
  observe(reached(1, 3));
  expect(told).toEqual([['shop/a', 'shop/b']]);
});

test('a change waits for its own commit, and is told again', () => {
  observe(identified(1));
  tracker.passed(['shop/a'], 1);
  tracker.passed(['shop/a'], 2);
  observe(reached(1, 1));
  expect(told).toEqual([]);
  observe(reached(1, 2));
  tracker.passed(['shop/a'], 3);
  observe(reached(1, 3));
  expect(told).toEqual([['shop/a'], ['shop/a']]);
});

test('what a proxy rejects is not in force, which nobody else waits for', () => {
  const nack = (seq: number, divided: boolean, ...origin: string[]) => {
    const resources = [{ name: 'r', version: String(seq), origin }];
    const rest = { typeUrl: 'x', nonce: '1', code: 3, message: 'no', latencyMs: 1 };
    observe({ kind: 'nack', stream: 1, resources, divided, ...rest });
  };
  observe(identified(1));
  tracker.passed(['shop/a', 'shop/b'], 3);
  nack(3, true, 'shop/a', 'shop/b');
  nack(3, false, 'shop/a');
  observe(reached(1, 3));
  expect(told).toEqual([['shop/b']]);
  expect(tracker.programmed('shop/a')).toBe(false);
  tracker.passed(['shop/a'], 4);
  observe(reached(1, 4));
  expect(tracker.programmed('shop/a')).toBe(true);
});

test('a pass that changed nothing for the proxies is programmed at once', () => {
  observe(identified(1));
  tracker.passed(['shop/a'], 1);
  observe(reached(1, 1));
  tracker.passed(['shop/b'], 1);
  expect(told).toEqual([['shop/a'], ['shop/b']]);
});

test('a fresh proxy takes nothing back, but what comes later waits for it', () => {
  observe(identified(1));
  tracker.passed(['shop/a'], 1);
  observe(reached(1, 1), opened(2), identified(2));
  expect(tracker.programmed('shop/a')).toBe(true);
  tracker.passed(['shop/b'], 2);
  observe(reached(1, 2));
  expect(tracker.programmed('shop/b')).toBe(false);
  observe(reached(2, 2));
  expect(told).toEqual([['shop/a'], ['shop/b']]);
});

test('a proxy that goes is not waited for; when the last one goes nothing is programmed', () => {
  observe(identified(1), identified(2));
  tracker.passed(['shop/a'], 1);
  observe(reached(1, 1), closed(2));
  expect(told).toEqual([['shop/a']]);
  tracker.passed(['shop/b'], 2);
  observe(closed(1));
  expect(told).toEqual([['shop/a']]);
});

test('a connection that never said who it is holds nothing up', () => {
  observe(opened(1), identified(1), opened(2));
  tracker.passed(['shop/a'], 1);
  observe(reached(1, 1), closed(2));
  expect(told).toEqual([['shop/a']]);
});

test('what is gone is not told', () => {
  observe(identified(1));
  tracker.passed(['shop/a', 'shop/b'], 1);
  tracker.removed('shop/a');
  observe(reached(1, 1));
  expect(told).toEqual([['shop/b']]);
  tracker.removed('shop/b');
  expect(tracker.programmed('shop/b')).toBe(false);
});

test('an event costs what it concerns: one change among 100,000 Ingresses, 2,000 times', () => {
  observe(identified(1), identified(2));
  tracker.passed(
    Array.from({ length: 100_000 }, (_, index) => `shop/${index}`),
    1,
  );
  observe(reached(1, 1), reached(2, 1));
  // With a walk over all Ingresses in each event this takes minutes.
  for (let seq = 2; seq < 2_000; seq++) {
    tracker.passed([`shop/${seq}`], seq);
    observe(reached(1, seq), reached(2, seq));
  }
  expect(told.slice(1).every((keys) => keys.length === 1)).toBe(true);
});

test('agrees with the definition, whatever happens in which order', () => {
  const key = fc.constantFrom('a', 'b', 'c');
  const stream = fc.nat(2);
  const event = fc.oneof(
    fc.record({ do: fc.constant('pass' as const), keys: fc.uniqueArray(key), commit: fc.boolean() }),
    fc.record({ do: fc.constant('remove' as const), key }),
    fc.record({ do: fc.constant('identify' as const), stream }),
    fc.record({ do: fc.constant('reach' as const), stream, back: fc.nat(2) }),
    fc.record({ do: fc.constant('close' as const), stream }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      tracker = createProgrammedTracker(() => {});
      const streams = new Map<number, number>();
      const commits = new Map<string, number>();
      const expected = new Set<string>();
      let seq = 0;
      for (const one of events) {
        if (one.do === 'pass') {
          if (one.commit) seq++;
          tracker.passed(one.keys, seq);
          for (const name of one.keys) commits.set(name, seq);
        } else if (one.do === 'remove') {
          tracker.removed(one.key);
          commits.delete(one.key);
          expected.delete(one.key);
        } else if (one.do === 'identify') {
          if (streams.has(one.stream)) continue;
          streams.set(one.stream, 0);
          observe(identified(one.stream));
        } else if (one.do === 'reach') {
          const next = seq - one.back;
          if (next <= (streams.get(one.stream) ?? Number.POSITIVE_INFINITY)) continue;
          streams.set(one.stream, next);
          observe(reached(one.stream, next));
        } else {
          streams.delete(one.stream);
          observe(closed(one.stream));
        }
        for (const [name, commit] of commits) {
          if (streams.size > 0 && [...streams.values()].every((at) => at >= commit)) expected.add(name);
        }
        for (const name of ['a', 'b', 'c']) expect(tracker.programmed(name)).toBe(expected.has(name));
      }
    }),
  );
});
