import type { PathMatch } from '../model/proxy-model.ts';
import { CONTROL_CHARACTERS } from './declaration/content.ts';
import { quote } from './diagnose.ts';
import { canonicalPath, resolvedPaths } from './path-text.ts';

/** A path of a rule. What it matches depends on the host: on some, every path is a regular expression. */
export interface RulePath {
  /** As it is written; `/` where nothing is. */
  readonly path: string;
  readonly type: 'exact' | 'prefix';
  /** What it matches where it is no regular expression. */
  readonly literal: LiteralPath;
}

export type LiteralPath = { readonly match: PathMatch } | UnservedPath;

/** A path that cannot be served as it is written. */
export interface UnservedPath {
  /** Why no request could ever match, to follow the path. */
  readonly reason: string;
  /** All that it may have been meant for: what has to be closed where the path was to be protected. */
  readonly meant: readonly PathMatch[];
}

/** `?` and `#` end the path of a request, and proxies turn `\` into `/`. */
const NO_PATH_CHARACTER = /[?#\\]/;
/** A request with it is answered 400. */
const NUL = '%00';
/** Characters that users write in regular expressions, and hardly elsewhere. */
const LIKE_AN_EXPRESSION = /[*^|[\]{}\\?]|\(.*\)|.\$$/;

/**
 * A path of a rule; no path means `/`, `ImplementationSpecific` and no type mean `Prefix`, as in ingress-nginx. `UnservedPath`: it means
 * nothing on any host.
 */
export function parsePath(path: string | undefined, pathType: string | undefined): RulePath | UnservedPath {
  const text = path === undefined || path === '' ? '/' : path;
  const type = typeOf(pathType);
  const unserved = (reason: string) => ({ reason, meant: meantBy(text, type ?? 'prefix') });
  if (!text.startsWith('/')) return unserved('is not absolute: it must begin with /');
  if (CONTROL_CHARACTERS.test(text)) return unserved('holds control characters');
  if (type === undefined)
    return unserved(`has the unknown type ${quote(pathType ?? '')}; use Exact, Prefix or ImplementationSpecific`);
  return { path: text, type, literal: parseLiteral(text, type) };
}

const NO_REQUEST = 'holds characters that stand in no request path; write them percent-encoded';

function typeOf(pathType: string | undefined): RulePath['type'] | undefined {
  if (pathType === 'Exact') return 'exact';
  return pathType === undefined || pathType === 'Prefix' || pathType === 'ImplementationSpecific'
    ? 'prefix'
    : undefined;
}

function parseLiteral(text: string, type: RulePath['type']): LiteralPath {
  const path = canonicalPath(text);
  const reason = reasonAgainst(text, path);
  return reason === undefined ? { match: matchOf(path, type) } : { reason, meant: meantBy(text, type) };
}

function reasonAgainst(text: string, path: string): string | undefined {
  if (NO_PATH_CHARACTER.test(text)) return `${NO_REQUEST}${looksLikePattern(text) ? `, or ${ASK_FOR_REGEX}` : ''}`;
  if (path.includes(NUL)) return 'holds %00, which no proxy takes';
  return resolvedPaths(path).every((resolved) => resolved === path)
    ? undefined
    : 'holds //, a dot element or %2F, which are resolved before paths are compared';
}

/** `Prefix /foo/` is the same as `Prefix /foo`: Kubernetes compares path elements. */
function matchOf(path: string, type: RulePath['type']): PathMatch {
  return type === 'exact' ? { kind: 'exact', path } : { kind: 'prefix', path: path.replace(/\/$/, '') || '/' };
}

/** Every path that a request may have which somebody writes as this text: as a whole, without a query, and with `\` as a slash. */
function meantBy(text: string, type: RulePath['type']): PathMatch[] {
  const absolute = text.startsWith('/') ? text : `/${text}`;
  const meant = new Map<string, PathMatch>();
  for (const written of [absolute, absolute.replaceAll('\\', '/')]) {
    const [withoutQuery = ''] = written.split(/[?#]/);
    const others = withoutQuery === written ? [] : matchesOf(withoutQuery, 'prefix');
    for (const match of [...matchesOf(written, type), ...others]) meant.set(`${match.kind} ${match.path}`, match);
  }
  return [...meant.values()].filter(({ path }) => !path.includes(NUL));
}

function matchesOf(text: string, type: RulePath['type']): PathMatch[] {
  return resolvedPaths(canonicalPath(text)).map((path) => matchOf(path, type));
}

/** All that somebody may mean who writes the path, and means no regular expression. */
export function meantLiterally({ literal }: RulePath): readonly PathMatch[] {
  return 'match' in literal ? [literal.match] : literal.meant;
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
