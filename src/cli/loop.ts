import { Controller, type Publisher, type Settled } from '../controller.ts';
import type { Engine } from '../derive.ts';
import { type Build, type BuildOptions, createBuild } from '../ingress/build.ts';
import type { ProxyModel } from '../model/proxy-model.ts';
import { type Clock, systemClock } from '../xds/clock.ts';
import { createWorld, type World } from './world.ts';

export interface LoopOptions<P extends Publisher> {
  /** Default: a new engine with nothing in its state. */
  readonly world?: World;
  readonly build: BuildOptions;
  /** Emit and publish for one kind of proxy. */
  readonly publisher: (engine: Engine, model: ProxyModel) => P;
  readonly onSettled?: (settled: Settled) => void;
  readonly clock?: Clock;
}

/** From watched objects to what a publisher makes of them, without sources. */
export interface Loop<P extends Publisher> extends World {
  readonly build: Build;
  readonly publisher: P;
  readonly controller: Controller;
}

export function createLoop<P extends Publisher>(options: LoopOptions<P>): Loop<P> {
  const { clock = systemClock, onSettled, world = createWorld() } = options;
  const { engine, state } = world;
  const build = createBuild(engine, state, options.build);
  const publisher = options.publisher(engine, build.model);
  const controller = new Controller({ engine, state, build, publisher, clock, ...(onSettled && { onSettled }) });
  return { engine, state, build, publisher, controller };
}
