import { ClusterState } from '../cluster/cluster-state.ts';
import { Engine } from '../derive.ts';

/** What is watched, and nothing that is made of it yet. */
export interface World {
  readonly engine: Engine;
  readonly state: ClusterState;
}

export function createWorld(): World {
  const engine = new Engine();
  return { engine, state: new ClusterState(engine) };
}
