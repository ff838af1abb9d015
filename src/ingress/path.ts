import type { PathMatch } from '../model/proxy-model.ts';
import { quote } from './diagnose.ts';

/** A path of a rule. What it matches depends on the host: on some, every path is a regular expression. */
export interface RulePath {
  /** As it is written; `/` where nothing is. */
  readonly path: string;
  readonly type: 'exact' | 'prefix';
  /** What it matches where it is no regular expression. */
  readonly literal: LiteralPath;
}

/** `reason`: why no request could ever match. */
export type LiteralPath = { readonly match: PathMatch } | { readonly reason: string };

/** Printable ASCII. */
const PRINTABLE = /^[\x21-\x7e]*$/;
/** `?` and `#` end the path of a request, and proxies turn `\` into `/`. */
const NO_PATH_CHARACTER = /[?#\\]/;
/** Proxies resolve dot elements and merge slashes before they match, so such a path could never be asked for. */
const UNRESOLVED = /\/\/|\/\.{1,2}(?:\/|$)|%2f/i;
/** Characters that users write in regular expressions, and hardly elsewhere. */
const LIKE_AN_EXPRESSION = /[*^|[\]{}\\?]|\(.*\)|.\$$/;

/**
 * A path of a rule; no path means `/`, `ImplementationSpecific` and no type mean `Prefix`, as in ingress-nginx. `reason`: why it means
 * nothing on any host.
 */
export function parsePath(
  path: string | undefined,
  pathType: string | undefined,
): RulePath | { readonly reason: string } {
  const text = path === undefined || path === '' ? '/' : path;
  if (!text.startsWith('/')) return { reason: 'is not absolute: it must begin with /' };
  if (!PRINTABLE.test(text)) return { reason: NO_REQUEST };
  const type = typeOf(pathType);
  if (type === undefined)
    return { reason: `has the unknown type ${quote(pathType ?? '')}; use Exact, Prefix or ImplementationSpecific` };
  return { path: text, type, literal: parseLiteral(text, type) };
}

const NO_REQUEST = 'holds characters that stand in no request path; write them percent-encoded';

function typeOf(pathType: string | undefined): RulePath['type'] | undefined {
  if (pathType === 'Exact') return 'exact';
  return pathType === undefined || pathType === 'Prefix' || pathType === 'ImplementationSpecific'
    ? 'prefix'
    : undefined;
}

/** `Prefix /foo/` is the same as `Prefix /foo`: Kubernetes compares path elements. */
function parseLiteral(text: string, type: RulePath['type']): LiteralPath {
  if (NO_PATH_CHARACTER.test(text))
    return { reason: `${NO_REQUEST}${looksLikePattern(text) ? `, or ${ASK_FOR_REGEX}` : ''}` };
  if (UNRESOLVED.test(text))
    return { reason: 'holds //, a dot element or %2F, which are resolved before paths are compared' };
  if (type === 'exact') return { match: { kind: 'exact', path: text } };
  return { match: { kind: 'prefix', path: text.replace(/\/$/, '') || '/' } };
}

/** What makes a path a regular expression. */
export const ASK_FOR_REGEX = 'set use-regex if a regular expression is meant';

export function looksLikePattern(path: string): boolean {
  return LIKE_AN_EXPRESSION.test(path);
}

/** Match order of literal paths: exact ones first, then the longest prefix, so that the first match is the most specific one. */
export function compareMatches(a: PathMatch, b: PathMatch): number {
  if (a.kind !== b.kind) return a.kind === 'exact' ? -1 : 1;
  if (a.kind === 'prefix' && a.path.length !== b.path.length) return b.path.length - a.path.length;
  return a.path < b.path ? -1 : Number(a.path > b.path);
}
