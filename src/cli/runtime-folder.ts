import { chmod, lstat, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { answers } from './answers.ts';
import { processStart } from './process-life.ts';

/** The files of one running process tree. Everything is readable by its user alone. */
export interface RuntimePaths {
  readonly folder: string;
  /** When the process was started that has made the folder, as `processStart` tells it. */
  readonly owner: string;
  /** Unix socket that answers while the process lives that has made the folder. */
  readonly aliveSocket: string;
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
    owner: join(folder, 'owner'),
    aliveSocket: join(folder, 'alive.sock'),
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
  const paths = runtimePaths(folder);
  await writeFile(paths.owner, (await processStart(process.pid)) ?? '', { mode: 0o600 });
  await answerWhileAlive(paths.aliveSocket);
  return paths;
}

export interface FolderOwner {
  readonly pid: number;
  readonly folder: string;
  /** As `processStart` tells it. */
  readonly start: string;
}

/**
 * The living processes that have made a runtime folder below `base`, and that this user may end. What is left of dead ones, or
 * belongs to processes that are not seen from here, is passed over.
 */
export async function findFolderOwners(base: string): Promise<FolderOwner[]> {
  const owners: FolderOwner[] = [];
  for (const name of await readdir(base).catch(() => [])) {
    const pid = Number(OWN_NAME.exec(name)?.[1]);
    if (Number.isNaN(pid)) continue;
    const folder = join(base, name);
    const start = await readFile(runtimePaths(folder).owner, 'utf8').catch(() => undefined);
    if (start === undefined || start !== (await processStart(pid)) || !(await isOfOwner(pid, folder))) continue;
    owners.push({ pid, folder, start });
  }
  return owners;
}

/** Anybody can make a folder that names a process of somebody else. */
async function isOfOwner(pid: number, folder: string): Promise<boolean> {
  const user = process.getuid?.();
  const [made, runs] = await Promise.all([folder, `/proc/${pid}`].map((path) => lstat(path).catch(() => undefined)));
  if (made === undefined || !(user === 0 || made.uid === user)) return false;
  return runs === undefined || runs.uid === made.uid;
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

/** Until its socket answers, a folder may be one that another process has just made. */
const YOUNG_MS = 5_000;

/**
 * Containers that share a folder do not see each other's processes, only each other's sockets. Envoy may live a little longer than
 * who has started it.
 */
async function isInUse(folder: string): Promise<boolean> {
  const { aliveSocket, adminSocket } = runtimePaths(folder);
  if ((await answers({ path: aliveSocket })) || (await answers({ path: adminSocket }))) return true;
  const stats = await lstat(folder).catch(() => undefined);
  return stats !== undefined && Date.now() - stats.mtimeMs < YOUNG_MS;
}

async function answerWhileAlive(socketPath: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const server = createServer((socket) => socket.destroy());
  server.once('error', reject);
  server.listen(socketPath, resolve);
  server.unref();
  await promise;
  await chmod(socketPath, 0o600);
}
