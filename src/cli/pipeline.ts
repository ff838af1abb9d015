import type { Publisher, Settled } from '../controller.ts';
import { createEmitter, type EmitOptions, type Emitter } from '../envoy/emit.ts';
import { createEncoder } from '../envoy/wire-encoder.ts';
import type { BuildOptions } from '../ingress/build.ts';
import type { Clock } from '../xds/clock.ts';
import type { XdsObserver } from '../xds/observer.ts';
import { SnapshotStore } from '../xds/store.ts';
import { createLoop, type Loop } from './loop.ts';
import { createXdsPublisher } from './xds-publisher.ts';

export interface PipelineOptions {
  readonly build: BuildOptions;
  readonly emit: EmitOptions;
  readonly observe?: XdsObserver;
  readonly onSettled?: (settled: Settled) => void;
  readonly clock?: Clock;
}

/** From watched objects to a snapshot, without sources and without sockets. */
export interface Pipeline extends Omit<Loop<Publisher>, 'publisher'> {
  readonly emitter: Emitter;
  readonly store: SnapshotStore;
}

export function createPipeline({ emit, observe, ...options }: PipelineOptions): Pipeline {
  const store = new SnapshotStore(observe);
  let emitter: Emitter | undefined;
  const { engine, state, build, controller } = createLoop({
    ...options,
    publisher: (engine, model) => {
      emitter = createEmitter(engine, model, emit, createEncoder());
      return createXdsPublisher(emitter, store);
    },
  });
  if (emitter === undefined) throw new Error('the loop asks for its publisher');
  return { engine, state, build, emitter, store, controller };
}
