/** Paths of rules as requests carry them: what nginx takes for one path has one text. */

/** An encoded byte, or any other one. */
const UNIT = /%([0-9a-f]{2})|[\s\S]/gi;
/** What stands in the path of a request as it is, after a proxy has normalized it. */
const AS_IT_IS = /[\w.~\-/!$&'()*+,;=:@[\]]/;
const ENCODED_SLASH = '%2F';

/**
 * nginx compares decoded bytes, so `/é`, `/%C3%A9` and `/%c3%a9` are one path, and so are `/@a` and `/%40a`. A `%` that begins no
 * encoded byte is itself. An encoded slash stays encoded.
 */
export function canonicalPath(text: string): string {
  const bytes = Buffer.from(text).toString('latin1');
  return bytes.replaceAll(UNIT, (unit: string, digits: string | undefined) => {
    const code = digits === undefined ? unit.charCodeAt(0) : Number.parseInt(digits, 16);
    const character = String.fromCharCode(code);
    const isEncodedSlash = character === '/' && digits !== undefined;
    return AS_IT_IS.test(character) && !isEncodedSlash ? character : encoded(code);
  });
}

function encoded(code: number): string {
  return `%${code.toString(16).toUpperCase().padStart(2, '0')}`;
}

/**
 * What becomes of a canonical path before it is compared: slashes are decoded and merged, dot elements resolved. nginx merges first,
 * Envoy last, which makes a difference for `/a//../b`: `/b`, or `/a/b`.
 */
export function resolvedPaths(path: string): readonly string[] {
  const decoded = path.replaceAll(ENCODED_SLASH, '/');
  return [...new Set([withoutDots(merged(decoded)), merged(withoutDots(decoded))])];
}

function merged(path: string): string {
  return path.replaceAll(/\/{2,}/g, '/');
}

function withoutDots(path: string): string {
  const elements: string[] = [];
  const [, ...written] = path.split('/');
  for (const element of written) {
    if (element === '..') elements.pop();
    else if (element !== '.') elements.push(element);
  }
  const last = written.at(-1);
  return `/${elements.join('/')}${(last === '.' || last === '..') && elements.length > 0 ? '/' : ''}`;
}

/** A path that is a regular expression: what stands in no request as it is, is encoded. In a class of characters there is no such form. */
export function patternText(text: string): string {
  if (text.includes('[')) return text;
  return text.replaceAll(/[^\x21-\x7e]+/g, canonicalPath);
}

/** A canonical path as a regular expression. */
export function patternOf(path: string): string {
  return path.replaceAll(/[^\w/%-]/g, '\\$&');
}

/**
 * The expression that takes what a canonical path without a slash at its end takes literally.
 * @param without paths of type Exact, which others take: itself, or itself with a slash at the end
 */
export function literalPattern(
  { type, path }: { readonly type: 'exact' | 'prefix'; readonly path: string },
  without: readonly string[] = [],
): string {
  // Not every proxy merges slashes before which nothing stands.
  if (path === '/') return type === 'exact' ? '/+$' : '/';
  const pattern = patternOf(path);
  if (type === 'exact') return `${pattern}$`;
  const below = without.includes(`${path}/`) ? '/(?s:.)' : '/';
  return without.includes(path) ? pattern + below : `${pattern}(?:${below}|$)`;
}

/** Whether a path, taken as a regular expression, matches at least its own text. */
export function matchesItself(path: string): boolean {
  return !/[$()*+?[\]^{|}\\]/.test(path);
}

/** The same expression without slashes that follow one another, which the path of no request has. */
export function withoutDoubleSlashes(pattern: string): string {
  return pattern.replaceAll(/(?:\/|%2f){2,}(?![?*+{])/gi, '/');
}
