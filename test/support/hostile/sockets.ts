/** The sockets that processes hold, read from /proc. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const LISTEN = '0A';

/** TCP ports, on any address, on which one of the processes listens; sorted. */
export function listeningTcpPorts(pids: readonly number[]): number[] {
  const inodes = socketInodes(pids);
  const ports = new Set<number>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const row of rows(table)) {
      const [, local = '', , state, , , , , , inode = ''] = row;
      if (state === LISTEN && inodes.has(inode))
        ports.add(Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16));
    }
  }
  return [...ports].sort((a, b) => a - b);
}

/** Names of the Unix sockets that one of the processes holds; abstract ones begin with `@` and have no permissions. */
export function unixSocketNames(pids: readonly number[]): string[] {
  const inodes = socketInodes(pids);
  const names = rows('/proc/net/unix').flatMap(([, , , , , , inode = '', name]) =>
    name !== undefined && inodes.has(inode) ? [name] : [],
  );
  return [...new Set(names)].sort();
}

function rows(path: string): string[][] {
  const [, ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => line.trim().split(/\s+/));
}

function socketInodes(pids: readonly number[]): Set<string> {
  const links = pids.flatMap((pid) => readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`)));
  return new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
}

/** Empty for a descriptor that was closed in the meantime. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
