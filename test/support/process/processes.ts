import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export interface ProcessEntry {
  readonly pid: number;
  /** The command line, words separated by spaces. */
  readonly command: string;
}

/** The living children of a process, read from /proc. */
export function childrenOf(parent: number): ProcessEntry[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => readStat(pid)?.parent === parent)
    .map((pid) => ({ pid, command: readCommand(pid) }));
}

/** A process that has ended but was not waited for (a zombie) is not alive. */
export function isAlive(pid: number): boolean {
  const stat = readStat(pid);
  return stat !== undefined && stat.state !== 'Z';
}

const DEADLINE_MS = 10_000;

/** Asks until the answer is neither false nor undefined. */
export async function eventually<T>(what: string, ask: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = performance.now() + DEADLINE_MS;
  while (performance.now() < deadline) {
    const answer = await ask();
    if (answer !== undefined && answer !== null && answer !== false) return answer;
    await delay(20);
  }
  throw new Error(`${what}: not within ${DEADLINE_MS} ms`);
}

function readStat(pid: number): { readonly state: string; readonly parent: number } | undefined {
  const text = read(`/proc/${pid}/stat`);
  // The name of the command stands in parentheses and may hold anything.
  const [state, parent] = text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? [];
  return state === undefined ? undefined : { state, parent: Number(parent) };
}

function readCommand(pid: number): string {
  return read(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ').trim() ?? '';
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
