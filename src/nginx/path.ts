/** Paths of the model as nginx compares them: byte by byte, after it has decoded the path of the request. */
import { parsePattern } from '../model/path-pattern.ts';
import { escapeRegex, Literal, Pattern, quote } from './quote.ts';

/** One character for each byte. */
export type PathBytes = string;

/**
 * What a request path has to be for nginx. Model paths are percent-encoded where a request has to be; a `%` without two hexadecimal
 * digits stays as it is, since nginx answers 400 to requests with one.
 */
export function pathBytes(path: string): PathBytes {
  return Buffer.from(path)
    .toString('latin1')
    .replaceAll(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

export interface LocationPath {
  readonly kind: 'exact' | 'prefix' | 'regex' | 'caseless';
  readonly path: Literal | Pattern;
}

/** nginx keeps the length of a location in one byte, so of a longer one it compares only a part. */
const MAX_LOCATION_BYTES = 255;

/**
 * How a location says a path. What is too long, or no UTF-8, becomes a regular expression. nginx tries those in their order, before
 * prefixes: no location of text can stand for what one of them matches and is more specific.
 */
export function locationPath(kind: 'exact' | 'prefix', bytes: PathBytes): LocationPath {
  const text = bytes.length > MAX_LOCATION_BYTES ? undefined : utf8(bytes);
  if (text !== undefined) return { kind, path: new Literal(text) };
  const source = [...bytes]
    .map((byte) => (byte < '\x80' ? escapeRegex(byte) : `\\x${byte.charCodeAt(0).toString(16)}`))
    .join('');
  // `$` would also match in front of a line break at the end.
  return { kind: 'regex', path: new Pattern(`^${source}${kind === 'exact' ? '\\z' : ''}`) };
}

/** A path that is a regular expression, bound to the beginning as ingress-nginx does it. */
export function expressionPath(pattern: string): LocationPath {
  return { kind: 'caseless', path: new Pattern(`^${sourceOf(pattern)}`) };
}

/** The same where a rewrite looks for it. */
export function rewritePattern(pattern: string): Pattern {
  return new Pattern(`(?i)${sourceOf(pattern)}`);
}

/** Only what nginx is known to take: one expression that it refuses costs the configuration of every host. */
function sourceOf(pattern: string): string {
  const parsed = parsePattern(pattern);
  if ('reason' in parsed) throw new Error(`the path ${JSON.stringify(pattern)} holds ${parsed.reason}`);
  return parsed.parts.map(({ text }) => text).join('');
}

/** nginx refuses tokens of 4096 bytes and more. */
const MAX_TOKEN_BYTES = 4000;

/** Whether nginx can read the path, as it is written in the configuration. */
export function isWritable({ path }: LocationPath): boolean {
  return Buffer.byteLength(quote(path)) <= MAX_TOKEN_BYTES;
}

/** How many bytes of a path can always be written. A byte of a regular expression takes up to five. */
export const ALWAYS_WRITABLE_BYTES = 700;

function utf8(bytes: PathBytes): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}
