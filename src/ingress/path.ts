import type { PathMatch } from '../model/proxy-model.ts';
import { quote } from './diagnose.ts';

export type ParsedPath = { readonly match: PathMatch } | { readonly reason: string };

/** What can stand in the path of a request: printable ASCII but for `?` and `#`, which end it, and `\`, which proxies turn into `/`. */
const REQUEST_PATH = /^(?:(?![?#\\])[\x21-\x7e])*$/;
/** Proxies resolve dot elements and merge slashes before they match, so such a path could never be asked for. */
const UNRESOLVED = /\/\/|\/\.{1,2}(?:\/|$)|%2f/i;

/**
 * The match that a path of an Ingress means. No path means `/`; `ImplementationSpecific` and no type mean `Prefix`, as in
 * ingress-nginx. `Prefix /foo/` is the same as `Prefix /foo`: Kubernetes compares path elements.
 */
export function parsePath(path: string | undefined, pathType: string | undefined): ParsedPath {
  const text = path === undefined || path === '' ? '/' : path;
  if (!text.startsWith('/')) return { reason: 'is not absolute: it must begin with /' };
  if (!REQUEST_PATH.test(text))
    return { reason: 'holds characters that stand in no request path; write them percent-encoded' };
  if (UNRESOLVED.test(text))
    return { reason: 'holds //, a dot element or %2F, which are resolved before paths are compared' };
  switch (pathType) {
    case 'Exact':
      return { match: { kind: 'exact', path: text } };
    case 'Prefix':
    case 'ImplementationSpecific':
    case undefined:
      return { match: { kind: 'prefix', path: text.replace(/\/$/, '') || '/' } };
    default:
      return { reason: `has the unknown type ${quote(pathType)}; use Exact, Prefix or ImplementationSpecific` };
  }
}

/** Match order: exact paths first, then the longest prefix, so that the first match is the most specific one. */
export function compareMatches(a: PathMatch, b: PathMatch): number {
  if (a.kind !== b.kind) return a.kind === 'exact' ? -1 : 1;
  if (a.kind === 'prefix' && a.path.length !== b.path.length) return b.path.length - a.path.length;
  return a.path < b.path ? -1 : Number(a.path > b.path);
}
