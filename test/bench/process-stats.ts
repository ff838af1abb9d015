/** What Linux says about a process (https://docs.kernel.org/filesystems/proc.html). */
import { readFileSync } from 'node:fs';

/** CPU time of the main thread so far, in milliseconds. */
export function mainThreadCpuMs(pid: number): number {
  const [nanoseconds = ''] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}

/** Resident memory, in bytes. */
export function residentBytes(pid: number): number {
  const [, kilobytes = ''] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}
