import { beforeAll, describe, expect, test } from 'vitest';
import { makePair, type Pair } from '../test/support/pki.ts';
import { createPipeline, type Pipeline } from './cli/pipeline.ts';
import type { Settled } from './controller.ts';
import { defaultOptions, endpointSlice, ingress, rule, service, upsert } from './ingress/testing.ts';
import { systemClock } from './xds/clock.ts';

let generated: Pair;

beforeAll(async () => {
  generated = await makePair(['ingress.local']);
});

/** A pipeline whose first pass gives way after every step. */
function createWorld(onPause: (pipeline: Pipeline, pause: number) => void = () => {}) {
  const settled: Settled[] = [];
  let now = 0;
  let pauses = 0;
  const pipeline: Pipeline = createPipeline({
    build: defaultOptions(generated),
    emit: { ipv6: true },
    onSettled: (one) => settled.push(one),
    clock: {
      now: () => {
        now += 20;
        return now;
      },
      after: systemClock.after,
      soon: (callback) => {
        onPause(pipeline, ++pauses);
        systemClock.soon(callback);
      },
    },
  });
  for (const name of ['a', 'b']) pipeline.state.apply(tenant(name));
  return { pipeline, settled, pauses: () => pauses };
}

const tenant = (name: string) => [
  upsert(ingress(name, { rules: [rule(`${name}.test`, { path: '/', service: name })] })),
  upsert(service(name)),
  upsert(endpointSlice(`${name}-1`, name, ['10.0.0.1'])),
];

function versions({ emitter, store }: Pipeline): string[] {
  const types = [...new Set(emitter.resources.map(({ typeUrl }) => typeUrl))];
  return types.map((typeUrl) => `${typeUrl} ${store.size(typeUrl)} ${store.systemVersion(typeUrl)}`);
}

describe('the first pass', () => {
  test('gives way to other events, and is one commit with everything in it', async () => {
    const counts: number[] = [];
    const { pipeline, settled, pauses } = createWorld(({ store }) => counts.push(settled.length + store.seq));
    await pipeline.controller.start();
    expect(pauses()).toBeGreaterThan(50);
    expect(counts.slice(0, -1).every((count) => count === 0)).toBe(true);
    expect(settled.map(({ commit }) => commit?.seq)).toEqual([1]);
    expect([...pipeline.build.model.virtualHosts.keys()]).toEqual(expect.arrayContaining(['a.test', 'b.test']));

    // The same objects, in one sitting.
    const other = createWorld();
    for (const _ of other.pipeline.engine.steps());
    expect(other.pipeline.engine.counters()).toEqual(pipeline.engine.counters());
  });

  test('what is applied meanwhile is published in the next, as a whole', async () => {
    const { pipeline, settled } = createWorld(({ state, controller }, pause) => {
      if (pause === 10) {
        state.apply(tenant('c'));
        controller.notify(false);
      }
    });
    await pipeline.controller.start();
    expect(pipeline.build.model.virtualHosts.get('c.test')).toBeUndefined();
    while (settled.length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(settled[1]?.commit?.seq).toBe(2);
    const { pipeline: fresh } = createWorld();
    fresh.state.apply(tenant('c'));
    await fresh.controller.start();
    expect(versions(pipeline)).toEqual(versions(fresh));
  });

  test('is not published when the end comes before its own', async () => {
    const { pipeline, settled } = createWorld(({ controller }, pause) => {
      if (pause === 10) controller.stop();
    });
    await pipeline.controller.start();
    pipeline.controller.notify(true);
    expect([pipeline.store.ready, settled]).toEqual([false, []]);
  });
});
