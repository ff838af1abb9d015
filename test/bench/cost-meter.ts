import type { Pipeline } from '../../src/cli/pipeline.ts';
import type { Settled } from '../../src/controller.ts';
import type { XdsEvent, XdsObserver } from '../../src/xds/observer.ts';
import { createXdsCounters } from '../../src/xds/observer.ts';
import { typeUrls } from '../../src/xds/resource.ts';
import type { Cost } from './protocol.ts';

export interface CostMeter {
  readonly observe: XdsObserver;
  readonly settled: (settled: Settled) => void;
  /**
   * From now until a pass has been made and one Envoy has accepted everything that came of it, removed clusters included.
   * Rejects when Envoy refuses anything.
   * @param fromStart counts from the start of this process; its pass has been made.
   */
  measure(pipeline: Pipeline, options?: { readonly fromStart: boolean }): Promise<Cost>;
}

/** Watches what the control plane says about itself; measures one change at a time. */
export function createCostMeter(): CostMeter {
  const { counters, observe } = createXdsCounters();
  /** Clusters that left the snapshot and that Envoy still has. */
  const leaving = new Set<string>();
  let programmedSeq = 0;
  let openedAt = 0;
  let passes = 0;
  let refusal: string | undefined;
  let wake = () => {};

  function note(event: XdsEvent): void {
    if (event.kind === 'opened') openedAt = performance.now();
    else if (event.kind === 'programmed') programmedSeq = event.seq;
    else if (event.kind === 'nack') refusal = `Envoy refuses ${event.typeUrl}: ${event.message}`;
    else if (event.kind === 'response' && event.typeUrl === typeUrls.cluster) {
      for (const name of event.removed) leaving.delete(name);
    }
  }

  function read({ engine, emitter }: Pipeline) {
    const { user, system } = process.cpuUsage();
    return {
      cpuMs: (user + system) / 1000,
      bytes: counters.bytes,
      resources: counters.resources + counters.removals,
      units: sum(Object.values(engine.counters()).map(({ runs }) => runs)),
      encodes: sum(Object.values(emitter.counters())),
    };
  }

  return {
    observe: (event) => {
      observe(event);
      note(event);
      wake();
    },
    settled: ({ commit }) => {
      passes++;
      for (const name of commit?.types.get(typeUrls.cluster)?.removed ?? []) leaving.add(name);
      wake();
    },
    measure: (pipeline, { fromStart } = { fromStart: false }) => {
      const { promise, resolve, reject } = Promise.withResolvers<Cost>();
      const wanted = passes + (fromStart ? 0 : 1);
      const before = fromStart ? { cpuMs: 0, bytes: 0, resources: 0, units: 0, encodes: 0 } : read(pipeline);
      const startedAt = performance.now();
      const accepted = () =>
        passes >= wanted &&
        programmedSeq >= pipeline.store.seq &&
        leaving.size === 0 &&
        counters.responses === counters.acks + counters.nacks;
      wake = () => {
        if (refusal !== undefined) reject(new Error(refusal));
        if (refusal === undefined && !accepted()) return;
        wake = () => {};
        const after = read(pipeline);
        resolve({
          cpuMs: after.cpuMs - before.cpuMs,
          ackMs: performance.now() - (fromStart ? openedAt : startedAt),
          bytes: after.bytes - before.bytes,
          resources: after.resources - before.resources,
          units: after.units - before.units,
          encodes: after.encodes - before.encodes,
        });
      };
      return promise;
    },
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
