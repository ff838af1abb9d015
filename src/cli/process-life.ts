import { readFile } from 'node:fs/promises';

/**
 * What tells this process from all others that have had its number: when it was started, in ticks of the kernel. `undefined` when
 * it has ended, also where nobody has taken note of that yet (a zombie). Where there is no /proc: `alive`.
 */
export async function processStart(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return process.platform === 'linux' ? undefined : signalled(pid);
  // The name before may hold blanks and brackets.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' || state === 'X' ? undefined : fields[18];
}

function signalled(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
    return 'alive';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH' ? undefined : 'alive';
  }
}
