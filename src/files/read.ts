import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { faultReason, isMissing, STDIN } from './scan.ts';

/** Larger files are refused: nothing that a cluster accepts is near it, and parsing takes seconds. */
const MAX_FILE_SIZE = 10 * 1024 * 1024;

/** The standard input may hold a whole cluster, in one list. */
const MAX_STDIN_SIZE = 100 * 1024 * 1024;

export type FileText =
  | { readonly text: string }
  /** Nothing stands at this path (any more). */
  | { readonly missing: true }
  | { readonly fault: string };

/** The text of a file in UTF-8, without a byte order mark. A link counts as missing unless `followLink`. */
export async function readManifest(path: string, followLink: boolean): Promise<FileText> {
  if (path === STDIN) return readStdin();
  try {
    // Without O_NONBLOCK a pipe that took the place of the file would be waited for.
    const flags = constants.O_RDONLY | constants.O_NONBLOCK | (followLink ? 0 : constants.O_NOFOLLOW);
    const file = await open(path, flags);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) return { missing: true };
      if (stats.size > MAX_FILE_SIZE)
        return { fault: `${stats.size} bytes are more than the limit of ${MAX_FILE_SIZE} bytes` };
      return decode(await file.readFile());
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isMissing(error)) return { missing: true };
    return { fault: `The file cannot be read: ${faultReason(error)}` };
  }
}

async function readStdin(): Promise<FileText> {
  const bytes = await buffer(process.stdin);
  if (bytes.length <= MAX_STDIN_SIZE) return decode(bytes);
  return { fault: `${bytes.length} bytes are more than the limit of ${MAX_STDIN_SIZE} bytes` };
}

function decode(bytes: Uint8Array): FileText {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { fault: 'The file is not text in UTF-8' };
  }
}
