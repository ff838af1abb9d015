import { lstat } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import type { Diagnostic, SourcePosition } from '../model/diagnostic.ts';
import type { ObjectRef } from '../model/object-ref.ts';
import { createLargeParser } from './large-parser.ts';
import { isLarge, type PlacedDocument, parseManifests } from './parse.ts';
import { readManifest } from './read.ts';
import { isManifestName, type Scan, type ScanFault, scanFolders } from './scan.ts';
import { createSchedule } from './schedule.ts';
import { type FilesBatch, type ManifestFile, ManifestStore } from './store.ts';
import { createDirectoryWatcher } from './watch.ts';

export interface FilesSourceOptions {
  /** Folders, or single files. Earlier ones win when an object stands in two. */
  readonly folders: readonly string[];
  /** The first batch holds everything; later ones come when something changed. */
  onChange(batch: FilesBatch): void;
  /** A bug, or what `onChange` threw. The source goes on with the next change. */
  onError(error: unknown): void;
  /** A thread parses a large text: what needs none of it may be done meanwhile. */
  onThread?(): void;
  /** Of objects that name none. Default `default`. */
  readonly namespace?: string;
  /** Default true. Without it the first batch is the only one. */
  readonly watch?: boolean;
}

export interface FilesSource {
  /**
   * Reads everything, gives the first batch, then watches.
   * @throws Error that names the folder when one is missing or cannot be read.
   */
  start(): Promise<void>;
  /** Where an object, or a field of it, stands in the files as they are now. */
  locate(ref: ObjectRef, field?: string): SourcePosition | undefined;
  stop(): Promise<void>;
}

/** How long the folders must be quiet before they are read, so that no file is read while it is written; milliseconds. */
const QUIET = 20;
/** The longest that folders in constant change are left unread, in milliseconds. */
const MAX_DELAY = 250;
/**
 * How long objects must be gone from a file before they count as removed, in milliseconds: editors truncate or unlink a
 * file before they write it, and a slow writer leaves the first half of a file to be read.
 */
const LOSS_DELAY = 150;

/** How many files are open at once. */
const READ_AT_ONCE = 32;

/** How often the folders are looked through all the same, in milliseconds: network and shared file systems send no events. */
const LOOK_INTERVAL = 10_000;

const NOTHING_FOUND: Scan = { files: new Map(), directories: new Map(), faults: [] };

/** A folder of manifests as a source of objects. */
export function createFilesSource(options: FilesSourceOptions): FilesSource {
  const { folders, namespace = 'default', watch = true } = options;
  const store = new ManifestStore();
  const watcher = createDirectoryWatcher(onEvent);
  const schedule = createSchedule(() => update().catch(options.onError), MAX_DELAY);
  let scan = NOTHING_FOUND;
  let pathsByLocation: ReadonlyMap<string, string> = new Map();
  /** What has been read, with its identity at that time. */
  const loaded = new Map<string, ManifestFile & { readonly identity: string }>();
  /** Files that lost objects: the content without them, and since when it has been so. */
  const losses = new Map<string, { readonly text: string | undefined; readonly since: number }>();
  const touched = new Set<string>();
  const largeParser = createLargeParser(undefined, options.onThread);
  /** Large files that are being parsed while others are read, or have been. */
  const parsing = new Map<string, { readonly text: string; documents?: readonly PlacedDocument[] }>();
  let layoutTouched = false;
  /** While the folders are looked through: what `scan` says may then be out of date. */
  let scanning = false;
  /** Until then events are noted, but nothing runs. */
  let started = false;
  let looking: NodeJS.Timeout | undefined;
  let stopped = false;

  async function start(): Promise<void> {
    await rescan();
    const missing = scan.faults.find(({ path }) => folders.includes(path));
    if (missing !== undefined) {
      watcher.close();
      throw new Error(missing.message);
    }
    // What came between the first look into a folder and the beginning of its watch.
    layoutTouched = false;
    if (watch) await rescan();
    await readFiles(staleFiles());
    options.onChange(store.take() ?? { changes: [], diagnostics: [] });
    if (!watch || stopped) return;
    started = true;
    looking = setInterval(touchLayout, LOOK_INTERVAL);
    if (layoutTouched || touched.size > 0) wake();
  }

  function wake(): void {
    if (started) schedule.request(QUIET);
  }

  async function update(): Promise<void> {
    const paths = new Set([...touched, ...losses.keys()]);
    touched.clear();
    if (layoutTouched) {
      layoutTouched = false;
      await rescan();
      for (const path of staleFiles()) paths.add(path);
    }
    await readFiles(paths);
    const batch = store.take();
    if (batch !== undefined) options.onChange(batch);
  }

  /** Looks which files there are, without reading them. */
  async function rescan(): Promise<void> {
    scanning = true;
    scan = await scanFolders(folders).finally(() => {
      scanning = false;
    });
    pathsByLocation = new Map([...scan.files.keys()].map((path) => [resolve(path), path]));
    const faults = [...scan.faults];
    if (watch && !stopped) {
      const { added, faults: unwatched } = watcher.update(scan.directories);
      faults.push(...unwatched);
      if (added > 0) touchLayout();
    }
    store.setFolderDiagnostics(faults.map(folderDiagnostic));
  }

  /** Files that are new, may have changed, or are gone. */
  function staleFiles(): string[] {
    const changed = [...scan.files.values()].filter(({ path, identity }) => loaded.get(path)?.identity !== identity);
    const gone = [...loaded.keys()].filter((path) => !scan.files.has(path) && !isUnderFault(path, scan.faults));
    return [...changed.map(({ path }) => path), ...gone];
  }

  async function readFiles(paths: Iterable<string>): Promise<void> {
    const losing: (() => boolean)[] = [];
    const pending = [...paths];
    while (pending.length > 0) {
      const read = await Promise.all(pending.splice(0, READ_AT_ONCE).map(readFile));
      for (const settle of read) if (settle !== undefined && !settle()) losing.push(settle);
    }
    // An object may have moved to a file that was read later.
    for (const settle of losing) settle();
  }

  /** Reads one file and says how to take its content over; that refuses as long as objects would get lost too early. */
  async function readFile(path: string): Promise<(() => boolean) | undefined> {
    const found = scan.files.get(path);
    const file = found ?? loaded.get(path);
    if (file === undefined) return undefined;
    loaded.set(path, file);
    const content = found === undefined ? { missing: true as const } : await readManifest(path, found.isLink);
    if ('fault' in content) {
      losses.delete(path);
      store.fail(file, fileFault(path, content.fault));
      return undefined;
    }
    const text = 'text' in content ? content.text : undefined;
    // A directory or a link may have taken its place.
    if (text === undefined && found !== undefined) touchLayout();
    const documents = text === undefined ? [] : await parse(path, text);
    // It will be read again when it has been parsed.
    if (documents === undefined) return undefined;
    return () => {
      if (store.wouldLose(path, documents) && mustWait(path, text)) return false;
      losses.delete(path);
      takeOver(file, text === undefined ? undefined : documents);
      return true;
    };
  }

  /** Nobody waits for a large file but the first batch, which holds everything; `undefined` when it is not parsed yet. */
  async function parse(path: string, text: string): Promise<readonly PlacedDocument[] | undefined> {
    const former = store.documents(path);
    if (!isLarge(text)) return await parseManifests(text, namespace, former);
    if (!started) return await parseManifests(text, namespace, former, largeParser.parse);
    const known = parsing.get(path);
    if (known?.text !== text)
      void parseMeanwhile(path, text, former).catch((error) => stopped || options.onError(error));
    return known?.text === text ? known.documents : undefined;
  }

  async function parseMeanwhile(path: string, text: string, former: readonly PlacedDocument[]): Promise<void> {
    const entry: { readonly text: string; documents?: readonly PlacedDocument[] } = { text };
    parsing.set(path, entry);
    const documents = await parseManifests(text, namespace, former, async (texts) =>
      // It may have changed once more while others were parsed.
      parsing.get(path) === entry && !stopped ? await largeParser.parse(texts, namespace) : [],
    );
    if (parsing.get(path) !== entry || stopped) return;
    entry.documents = documents;
    touched.add(path);
    wake();
  }

  function takeOver(file: ManifestFile, documents: readonly PlacedDocument[] | undefined): void {
    parsing.delete(file.path);
    if (documents !== undefined) {
      store.set(file, documents);
      return;
    }
    store.remove(file);
    loaded.delete(file.path);
  }

  function mustWait(path: string, text: string | undefined): boolean {
    const now = performance.now();
    const known = losses.get(path);
    const loss = known !== undefined && known.text === text ? known : { text, since: now };
    losses.set(path, loss);
    const wait = loss.since + LOSS_DELAY - now;
    if (wait > 0) schedule.requestLater(wait);
    return wait > 0;
  }

  function touchLayout(): void {
    layoutTouched = true;
    wake();
  }

  /** Decides from a name alone whether a file, or the layout, may have changed. */
  function onEvent(directory: string, name: string | undefined): void {
    const watched = scan.directories.get(directory);
    if (name === undefined || watched === undefined || scanning) {
      touchLayout();
      return;
    }
    const location = join(directory, name);
    const path = pathsByLocation.get(location);
    if (path !== undefined && scan.files.get(path)?.isLink === false) {
      touched.add(path);
      wake();
    } else if (watched.names.has(name) || scan.directories.has(location)) touchLayout();
    else if (!watched.holdsManifests || name.startsWith('.')) return;
    else if (isManifestName(name)) touchLayout();
    else void touchLayoutIfDirectory(location);
  }

  /** Not for each of the other files that editors make. */
  async function touchLayoutIfDirectory(location: string): Promise<void> {
    const stats = await lstat(location).catch(() => undefined);
    if (stats?.isDirectory() || stats?.isSymbolicLink()) touchLayout();
  }

  return {
    start,
    locate: (ref, field) => store.locate(ref, field),
    async stop() {
      stopped = true;
      clearInterval(looking);
      watcher.close();
      await largeParser.close();
      await schedule.stop();
    },
  };
}

function isUnderFault(path: string, faults: readonly ScanFault[]): boolean {
  const location = resolve(path);
  return faults.some((fault) => `${location}${sep}`.startsWith(`${resolve(fault.path)}${sep}`));
}

function folderDiagnostic({ path, message }: ScanFault): Diagnostic {
  return { severity: 'error', ...fileFault(path, message) };
}

function fileFault(path: string, message: string): Pick<Diagnostic, 'code' | 'message'> & { source: SourcePosition } {
  return { code: 'FileUnreadable', message, source: { file: path, line: 1, column: 1 } };
}
