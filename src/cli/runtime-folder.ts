import { chmod, lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

/** The files of one running process tree. Everything is readable by its user alone. */
export interface RuntimePaths {
  readonly folder: string;
  /** Envoy's bootstrap, JSON. */
  readonly bootstrap: string;
  /** Unix sockets: of the control plane, of Envoy's admin interface, of the debug pages. */
  readonly xdsSocket: string;
  readonly adminSocket: string;
  readonly debugSocket: string;
}

const PREFIX = 'ingress-xds-';
const OWN_NAME = /^ingress-xds-(\d+)-\w{6}$/;

export function runtimePaths(folder: string): RuntimePaths {
  return {
    folder,
    bootstrap: join(folder, 'bootstrap.json'),
    xdsSocket: join(folder, 'xds.sock'),
    adminSocket: join(folder, 'admin.sock'),
    debugSocket: join(folder, 'debug.sock'),
  };
}

/** Makes a new folder below `base`, mode 0700, and removes those that dead processes have left there. */
export async function createRuntimeFolder(base: string): Promise<RuntimePaths> {
  await removeStaleFolders(base);
  const folder = await mkdtemp(join(base, `${PREFIX}${process.pid}-`));
  await chmod(folder, 0o700);
  return runtimePaths(folder);
}

export async function removeRuntimeFolder(paths: RuntimePaths): Promise<void> {
  await rm(paths.folder, { recursive: true, force: true });
}

async function removeStaleFolders(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    const pid = OWN_NAME.exec(name)?.[1];
    if (pid === undefined || isOtherProcess(Number(pid))) continue;
    const folder = join(base, name);
    if ((await isOwnFolder(folder)) && !(await isInUse(folder))) await rm(folder, { recursive: true, force: true });
  }
}

/** In a container every life of the process may have the same number, so our own number does not count as alive. */
function isOtherProcess(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

async function isOwnFolder(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined);
  return stats?.isDirectory() === true && stats.uid === process.getuid?.();
}

/** Containers that share a folder do not see each other's processes, only each other's sockets. */
async function isInUse(folder: string): Promise<boolean> {
  const { xdsSocket, adminSocket } = runtimePaths(folder);
  return (await answers(xdsSocket)) || (await answers(adminSocket));
}

function answers(socketPath: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(socketPath);
  socket.once('connect', () => resolve(true));
  socket.once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
