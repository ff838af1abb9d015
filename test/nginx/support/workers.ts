import { childrenOf } from '../../support/process/processes.ts';

/** Process numbers of the workers that take connections, in ascending order. */
export async function workersOf(master: number): Promise<number[]> {
  return childrenOf(master)
    .filter(({ command }) => command.includes('worker process') && !command.includes('shutting down'))
    .map(({ pid }) => pid)
    .sort((a, b) => a - b);
}
