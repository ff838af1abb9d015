/** Finds the manifest files of folders, and what must be watched to see every change of them. Reads no file's content. */
import { type BigIntStats, type Dirent, statSync } from 'node:fs';
import { readdir, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, parse, resolve, sep } from 'node:path';
import { compareFiles, type ManifestFile } from './store.ts';

export interface FoundFile extends ManifestFile {
  /** Changes whenever the content may have changed. */
  readonly identity: string;
  /** Reached through a symbolic link of its own, so that the path may come to mean another file. */
  readonly isLink: boolean;
}

/** A directory to watch. */
export interface WatchedDirectory {
  /** Another value means: not the directory that was here before. */
  readonly identity: string;
  /** Whether it holds manifests, so that every name in it counts. */
  readonly holdsManifests: boolean;
  /** Names in it that a path leads through: folders, symbolic links and their targets. */
  readonly names: ReadonlySet<string>;
}

export interface Scan {
  /** By path, in the order in which objects count. No file stands twice, whatever links lead to it. */
  readonly files: ReadonlyMap<string, FoundFile>;
  /** By absolute path. */
  readonly directories: ReadonlyMap<string, WatchedDirectory>;
  /** Directories, given folders among them, that are there but cannot be read, or are not there: what is known of them stays. */
  readonly faults: readonly ScanFault[];
}

export interface ScanFault {
  readonly path: string;
  readonly message: string;
}

interface Walk {
  readonly files: (FoundFile & { readonly real: string })[];
  readonly directories: Map<string, { identity: string; holdsManifests: boolean; names: Set<string> }>;
  readonly faults: ScanFault[];
  /** Real paths of the directories seen: each is read once, so that links in circles come to an end. */
  readonly seen: Set<string>;
  readonly links: Map<string, Promise<string | undefined>>;
}

/** The path that means the standard input. */
export const STDIN = '-';

/** As many links in a row as the kernel follows. */
const MAX_LINKS = 40;

/** `folders` may also be single files, which are taken whatever their name, and the standard input. */
export async function scanFolders(folders: readonly string[]): Promise<Scan> {
  const walk: Walk = { files: [], directories: new Map(), faults: [], seen: new Set(), links: new Map() };
  for (const [folder, path] of folders.entries()) await visitFolder(walk, path, folder);
  const files = new Map<string, FoundFile>();
  const real = new Set<string>();
  for (const found of walk.files.sort(compareFiles)) {
    if (real.has(found.real)) continue;
    real.add(found.real);
    files.set(found.path, found);
  }
  return { files, directories: walk.directories, faults: walk.faults };
}

export function isManifestName(name: string): boolean {
  return !name.startsWith('.') && /\.(ya?ml|json)$/i.test(name);
}

async function visitFolder(walk: Walk, path: string, folder: number): Promise<void> {
  if (path === STDIN) {
    walk.files.push({ path, folder, isLink: false, identity: STDIN, real: STDIN });
    return;
  }
  await watchTheWayTo(walk, path);
  const stats = await stat(path, { bigint: true }).catch((error: unknown) => fault(walk, path, error));
  if (stats?.isDirectory()) await visitDirectory(walk, path, folder, stats);
  else if (stats?.isFile()) await visitLinkedFile(walk, { path, folder });
  else if (stats !== undefined) walk.faults.push({ path, message: `${path} is neither a folder nor a file` });
}

async function visitDirectory(walk: Walk, path: string, folder: number, stats: BigIntStats): Promise<void> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined || walk.seen.has(real)) return;
  walk.seen.add(real);
  watchDirectory(walk, resolve(path), stats).holdsManifests = true;
  const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => fault(walk, path, error));
  const visible = (entries ?? []).filter(({ name }) => !name.startsWith('.'));
  visible.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of visible) {
    const file = { path: join(path, entry.name), folder };
    if (isManifestName(entry.name) && entry.isFile()) addFile(walk, { ...file, isLink: false }, join(real, entry.name));
    if (isManifestName(entry.name) && entry.isSymbolicLink()) await visitLinkedFile(walk, file);
  }
  // One after the other: which of several links to the same directory counts must not depend on timing.
  for (const entry of visible) await visitSubdirectory(walk, join(path, entry.name), folder, entry);
}

async function visitLinkedFile(walk: Walk, file: ManifestFile): Promise<void> {
  await watchTheWayTo(walk, file.path);
  const real = await realpath(file.path).catch((error: unknown) => faultUnlessMissing(walk, file.path, error));
  if (real !== undefined) addFile(walk, { ...file, isLink: true }, real);
}

async function visitSubdirectory(walk: Walk, path: string, folder: number, entry: Dirent): Promise<void> {
  if (!entry.isDirectory() && !entry.isSymbolicLink()) return;
  const stats = await stat(path, { bigint: true }).catch((error: unknown) => faultUnlessMissing(walk, path, error));
  if (!stats?.isDirectory()) return;
  if (entry.isSymbolicLink()) await watchTheWayTo(walk, path);
  await visitDirectory(walk, path, folder, stats);
}

/** Synchronous: for thousands of files the promises would keep the event loop busy for longer than the calls do. */
function addFile(walk: Walk, file: ManifestFile & { readonly isLink: boolean }, real: string): void {
  try {
    const stats = statSync(file.path, { bigint: true });
    if (!stats.isFile()) return;
    const { dev, ino, size, mtimeNs, ctimeNs } = stats;
    walk.files.push({ ...file, identity: [dev, ino, size, mtimeNs, ctimeNs].join(':'), real });
  } catch (error) {
    faultUnlessMissing(walk, file.path, error);
  }
}

/** Watches every directory in which a name could be replaced so that `path` leads elsewhere. */
async function watchTheWayTo(walk: Walk, path: string): Promise<void> {
  const absolute = resolve(path);
  await watchName(walk, dirname(absolute), basename(absolute));
  const { root } = parse(absolute);
  const pending = absolute.slice(root.length).split(sep);
  let at = root;
  for (let links = 0; pending.length > 0 && links <= MAX_LINKS; ) {
    const next = join(at, pending.shift() ?? '');
    const target = await linkTarget(walk, next);
    if (target === undefined) at = next;
    else {
      links++;
      await watchName(walk, at, basename(next));
      if (isAbsolute(target)) at = parse(target).root;
      pending.unshift(...target.slice(isAbsolute(target) ? at.length : 0).split(sep));
    }
  }
  await watchName(walk, dirname(at), basename(at));
}

function linkTarget(walk: Walk, path: string): Promise<string | undefined> {
  let target = walk.links.get(path);
  if (target === undefined) {
    target = readlink(path).catch(() => undefined);
    walk.links.set(path, target);
  }
  return target;
}

async function watchName(walk: Walk, directory: string, name: string): Promise<void> {
  const known = walk.directories.get(directory);
  if (known !== undefined) {
    known.names.add(name);
    return;
  }
  const stats = await stat(directory, { bigint: true }).catch(() => undefined);
  if (stats !== undefined) watchDirectory(walk, directory, stats).names.add(name);
}

function watchDirectory(walk: Walk, path: string, stats: BigIntStats): { holdsManifests: boolean; names: Set<string> } {
  let known = walk.directories.get(path);
  if (known === undefined) {
    const identity = [stats.dev, stats.ino, stats.birthtimeNs].join(':');
    known = { identity, holdsManifests: false, names: new Set() };
    walk.directories.set(path, known);
  }
  return known;
}

function fault(walk: Walk, path: string, error: unknown): undefined {
  walk.faults.push({ path, message: `${path} cannot be read: ${faultReason(error)}` });
  return undefined;
}

/** What went in the meantime, or is a link to nowhere, is simply not there. */
function faultUnlessMissing(walk: Walk, path: string, error: unknown): undefined {
  return isMissing(error) ? undefined : fault(walk, path, error);
}

/** Whether a system call failed because nothing stands at its path. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(String(error.code));
}

/** `no such file or directory`, from Node's `ENOENT: no such file or directory, stat '/x'`. */
export function faultReason(error: unknown): string {
  if (!(error instanceof Error)) throw error;
  return /^[A-Z]+: ([^,]+)/.exec(error.message)?.[1] ?? error.message;
}
