import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UNSHARE } from './namespace.ts';

export interface Entrance {
  /** Runs the command line that follows it in the namespace. */
  readonly command: readonly string[];
  /** Removes what was left behind. */
  close(): void;
}

/**
 * Temporary files are in a folder of their own: process numbers in them are those of the namespace, and who cleans up outside
 * would take their owners for dead.
 */
export function createEntrance(): Entrance {
  const folder = mkdtempSync(join(tmpdir(), 'test-cluster-'));
  const program = join(import.meta.dirname, 'inside.ts');
  return {
    command: ['env', `TMPDIR=${folder}`, ...UNSHARE, process.execPath, program],
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
