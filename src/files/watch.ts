import { type FSWatcher, watch } from 'node:fs';
import { basename } from 'node:path';
import { faultReason, type ScanFault, type WatchedDirectory } from './scan.ts';

export interface DirectoryWatcher {
  /** Watches exactly these directories. Says how many are new, and which cannot be watched. */
  update(directories: ReadonlyMap<string, WatchedDirectory>): { added: number; faults: ScanFault[] };
  close(): void;
}

/**
 * One watch per directory, not per file: it sees files that are replaced, and no event is held back. (Watchers that
 * suppress a second event shortly after the first lose the last write of an editor.)
 *
 * `onEvent` gets the directory and the name in it, or `undefined` when the system does not say which.
 */
export function createDirectoryWatcher(
  onEvent: (directory: string, name: string | undefined) => void,
): DirectoryWatcher {
  const watched = new Map<string, { readonly watcher: FSWatcher; readonly identity: string }>();

  function drop(path: string): void {
    watched.get(path)?.watcher.close();
    watched.delete(path);
  }

  function add(path: string, identity: string): void {
    const watcher = watch(path, (_, name) => {
      // How the system says that the directory itself went: the watch is dead, also if a new directory has its name.
      // It says the same of something in the directory that has its name, so look whether to watch it again.
      const isGone = name === basename(path);
      if (isGone) drop(path);
      onEvent(path, isGone ? undefined : (name ?? undefined));
    });
    watcher.on('error', () => {
      drop(path);
      onEvent(path, undefined);
    });
    watched.set(path, { watcher, identity });
  }

  return {
    update(directories) {
      for (const [path, { identity }] of watched) if (directories.get(path)?.identity !== identity) drop(path);
      const faults: ScanFault[] = [];
      let added = 0;
      for (const [path, { identity }] of directories) {
        if (watched.has(path)) continue;
        try {
          add(path, identity);
          added++;
        } catch (error) {
          faults.push({ path, message: `Changes in ${path} will not be seen: ${faultReason(error)}` });
        }
      }
      return { added, faults };
    },
    close() {
      for (const path of [...watched.keys()]) drop(path);
    },
  };
}
