import { type ClusterState, TODAY } from '../cluster/cluster-state.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Tells the state which day it is, now and after every midnight (UTC), until the returned function is called. */
export function followToday({ today }: Pick<ClusterState, 'today'>, onChange: () => void): () => void {
  let timer: NodeJS.Timeout;
  const tell = () => {
    const now = Date.now();
    today.set(TODAY, Math.floor(now / DAY_MS));
    timer = setTimeout(
      () => {
        tell();
        onChange();
      },
      DAY_MS - (now % DAY_MS),
    ).unref();
  };
  tell();
  return () => clearTimeout(timer);
}
