import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { faultReason } from './scan.ts';

/** Larger files are refused: nothing that a cluster accepts is near it, and parsing takes seconds. */
export const MAX_FILE_SIZE = 10 * 1024 * 1024;

export type FileText =
  | { readonly text: string }
  /** Nothing stands at this path (any more). */
  | { readonly missing: true }
  | { readonly fault: string };

/** The text of a file in UTF-8, without a byte order mark. */
export async function readManifest(path: string, maxSize = MAX_FILE_SIZE): Promise<FileText> {
  try {
    // Without O_NONBLOCK a pipe that took the place of the file would be waited for.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) return { missing: true };
      if (stats.size > maxSize) return { fault: `${stats.size} bytes are more than the limit of ${maxSize} bytes` };
      return decode(await file.readFile());
    } finally {
      await file.close();
    }
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
    return missing ? { missing: true } : { fault: `The file cannot be read: ${faultReason(error)}` };
  }
}

function decode(bytes: Uint8Array): FileText {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { fault: 'The file is not text in UTF-8' };
  }
}
