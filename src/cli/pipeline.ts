import { ClusterState } from '../cluster/cluster-state.ts';
import { Controller, type Settled } from '../controller.ts';
import { Engine } from '../derive.ts';
import { createEmitter, type EmitOptions, type Emitter } from '../envoy/emit.ts';
import { type Build, type BuildOptions, createBuild } from '../ingress/build.ts';
import { type Clock, systemClock } from '../xds/clock.ts';
import type { XdsObserver } from '../xds/observer.ts';
import { SnapshotStore } from '../xds/store.ts';
import { createXdsPublisher } from './xds-publisher.ts';

export interface PipelineOptions {
  readonly build: BuildOptions;
  readonly emit: EmitOptions;
  readonly observe?: XdsObserver;
  readonly onSettled?: (settled: Settled) => void;
  readonly clock?: Clock;
}

/** From watched objects to a snapshot, without sources and without sockets. */
export interface Pipeline {
  readonly engine: Engine;
  readonly state: ClusterState;
  readonly build: Build;
  readonly emitter: Emitter;
  readonly store: SnapshotStore;
  readonly controller: Controller;
}

export function createPipeline(options: PipelineOptions): Pipeline {
  const { clock = systemClock, onSettled } = options;
  const engine = new Engine();
  const state = new ClusterState(engine);
  const build = createBuild(engine, state, options.build);
  const emitter = createEmitter(engine, build.model, options.emit);
  const store = new SnapshotStore(options.observe);
  const publisher = createXdsPublisher(emitter, store);
  const controller = new Controller({ engine, state, build, publisher, clock, ...(onSettled && { onSettled }) });
  return { engine, state, build, emitter, store, controller };
}
