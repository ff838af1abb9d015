import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { configurationSocket } from '../nginx/dynamic.ts';
import { copiesSocket } from '../nginx/mirror.ts';
import { passthroughSockets } from '../nginx/passthrough.ts';
import type { ParentProxy } from './parent.ts';
import type { LogEntry } from './process-tree.ts';
import type { RuntimePaths } from './runtime-folder.ts';

export interface NginxProxyOptions {
  readonly path: string;
  /** How long nginx goes on accepting connections when the end has begun. */
  readonly gracePeriodMs: number;
  /** How long requests in flight may take after that. */
  readonly deadlineMs: number;
}

/** Where nginx of a process tree has its files. */
export function nginxFolder(paths: RuntimePaths): string {
  return join(paths.folder, 'nginx');
}

/**
 * Workers run as who started nginx, like Envoy: started by root they would else be `nobody`, whom the files of this folder are
 * closed to.
 */
export function nginxArguments(folder: string): string[] {
  const user = process.getuid?.() === 0 ? ['-g', 'user root;'] : [];
  return ['-e', 'stderr', '-c', join(folder, 'nginx.conf'), ...user];
}

/** nginx as the proxy of a process tree: its control plane has written the configuration before it starts. */
export function nginxProxy({ path, gracePeriodMs, deadlineMs }: NginxProxyOptions): ParentProxy {
  return {
    prepare: async (paths) => {
      const folder = nginxFolder(paths);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const args = nginxArguments(folder);
      return {
        name: 'nginx',
        title: 'nginx',
        spawn: () => {
          // A master that was killed leaves them behind, and the next one could not listen there.
          const { endedSocket, passedSocket } = passthroughSockets(folder);
          for (const socket of [configurationSocket(folder), copiesSocket(folder), endedSocket, passedSocket])
            rmSync(socket, { force: true });
          // A process group of its own. Access logs go to stdout, and its own log to stderr.
          return spawn(path, args, { detached: true, stdio: ['ignore', 'inherit', 'pipe'] });
        },
        parseLogLine,
        onEnd: endWorkers,
        stop: { signal: 'SIGQUIT', killAfterMs: deadlineMs },
      };
    },
    drain: async ({ interrupt, log }) => {
      if (gracePeriodMs > 0) log('info', `nginx goes on accepting connections for ${gracePeriodMs / 1_000} s`);
      await passed(gracePeriodMs, interrupt);
      if (interrupt.aborted) return ['warn', 'The drain was cut short by a second signal'];
      return ['info', `nginx finishes what is under way, within ${deadlineMs / 1_000} s at most`];
    },
  };
}

/** From being asked to finish to having closed its ports, for a worker that does not hang. */
const CLOSE_PORTS_MS = 5_000;

/**
 * Workers outlive a master that was killed, and go on accepting connections with a configuration that nobody can change any more.
 * They are in its process group; asked to quit, they finish what is under way and no more. One that hangs would get its share of
 * all connections for good, since each worker has its own queue of them.
 */
function endWorkers(master: number, isLast: boolean): void {
  if (!signal(-master, isLast ? 'SIGKILL' : 'SIGQUIT')) return;
  setTimeout(() => {
    for (const { pid, command } of groupOf(master)) if (!command.includes('shutting down')) signal(pid, 'SIGKILL');
  }, CLOSE_PORTS_MS).unref();
}

/** False if there is no such process, or no such group, any more. */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** The processes of a group, with their command lines. */
function groupOf(leader: number): { readonly pid: number; readonly command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        // Behind the name of the command, which may hold anything: state, parent, group.
        const group = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
        const command = () => readFileSync(`/proc/${name}/cmdline`, 'utf8');
        return group === leader ? [{ pid: Number(name), command: command() }] : [];
      } catch {
        return [];
      }
    });
}

function passed(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}

/** nginx's levels; what it says of every process that it starts and ends is for debugging. */
const LEVELS: Readonly<Record<string, LogEntry['level']>> = {
  emerg: 'error',
  alert: 'error',
  crit: 'error',
  error: 'error',
  warn: 'warn',
  notice: 'debug',
  info: 'debug',
  debug: 'debug',
};

/** `2026/11/29 22:22:56 [error] 31#31: *4 connect() failed …` or `nginx: [emerg] …` */
function parseLogLine(line: string): Pick<LogEntry, 'level' | 'message'> {
  const [, level = 'error', message = line] =
    /^(?:[\d/]+ [\d:]+ |nginx: )\[(\w+)\] (?:\d+#\d+: )?(.*)$/.exec(line) ?? [];
  return { level: LEVELS[level] ?? 'error', message };
}
