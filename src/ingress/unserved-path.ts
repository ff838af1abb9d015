import type { PathMatch } from '../model/proxy-model.ts';
import { quote } from './diagnose.ts';
import type { UnservedPath } from './path.ts';

/** What users are told of a path that is not served. */
export function whyUnserved(path: string, { reason, meant }: UnservedPath, protectedBy: readonly string[]): string {
  const unserved = `path ${quote(path)} ${reason}; it is not served`;
  if (protectedBy.length === 0 || meant.length === 0) return unserved;
  return `${unserved}, and ${whatIsClosed(meant, protectedBy)}`;
}

/** `meant`: at least one. */
export function whatIsClosed(meant: readonly PathMatch[], protectedBy: readonly string[]): string {
  return `since ${protectedBy.join(', ')} was to protect it, ${meant.map(described).join(', and ')} answers 503`;
}

function described({ kind, path }: PathMatch): string {
  if (kind === 'exact') return path;
  return path === '/' ? 'every path that no other takes' : `${path} with all below it`;
}
