import type { WaitShutdownArguments } from './flags.ts';

export async function waitShutdown(_args: WaitShutdownArguments): Promise<number> {
  throw new Error('not there yet');
}
