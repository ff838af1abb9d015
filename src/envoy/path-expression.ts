/**
 * Paths that are regular expressions, for RE2. nginx decodes a path before it compares, Envoy does not: each character of an expression
 * also stands for its percent-encoded form, so that no other spelling of a path leads to another route. What RFC 3986 calls unreserved
 * Envoy has decoded already.
 */
import type { Bytes } from '../model/character-class.ts';
import type { PatternPart } from '../model/path-pattern.ts';
import { parseForRe2 } from '../model/re2-pattern.ts';

export interface PathExpression {
  /** Matches, as a whole, the paths of the location. */
  readonly match: string;
  /** Matches the whole path too, with the groups of the pattern as nginx fills them when it rewrites. */
  readonly rewrite: string;
}

/** A host asks several times for each of its patterns, and hosts have many in common. It is emptied when it is full. */
const known = new Map<string, PathExpression>();
const MAX_KNOWN = 1024;
/** Longer ones are rare, and what they become is twenty times as long. */
const MAX_KNOWN_LENGTH = 256;

/**
 * @param pattern as the user wrote it
 * @throws Error for one that RE2 cannot follow; no route is made of those
 */
export function pathExpression(pattern: string): PathExpression {
  const before = known.get(pattern);
  if (before !== undefined) return before;
  const expression = translated(pattern);
  if (pattern.length > MAX_KNOWN_LENGTH) return expression;
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(pattern, expression);
  return expression;
}

function translated(pattern: string): PathExpression {
  const parsed = parseForRe2(pattern);
  if ('reason' in parsed) throw new Error(`the path ${JSON.stringify(pattern)} holds ${parsed.reason}`);
  const { parts, alternatives } = parsed;
  if (!alternatives) {
    const text = expressionOf(parts, { atStart: true });
    const rest = takesEverything(parts) ? '' : '.*';
    return { match: `(?i)${text}${rest}`, rewrite: `(?i)^${text}${rest}` };
  }
  // nginx: `^/a|/b`. Only the first alternative is bound to the beginning, and rewriting takes the first place where one holds.
  const end = firstAlternative(parts);
  const bound = expressionOf(parts.slice(0, end), { atStart: true });
  const unbound = expressionOf(parts.slice(end + 1));
  return {
    match: `(?i)(?:${bound}|${ANY}*?(?:${unbound})).*`,
    rewrite: `(?i)^${ANY}*?(?:${expressionOf(parts)}).*`,
  };
}

function firstAlternative(parts: readonly PatternPart[]): number {
  let depth = 0;
  return parts.findIndex(({ kind }) => {
    if (kind === 'open') depth += 1;
    if (kind === 'close') depth -= 1;
    return kind === 'or' && depth === 0;
  });
}

function expressionOf(parts: readonly PatternPart[], { atStart = false } = {}): string {
  return parts
    .map((part, index) => {
      if (part.kind !== 'byte') return part.text;
      // The path of a request begins with a slash as it is.
      if (atStart && index === 0 && part.text === '/') return '/';
      if (takesTheRest(parts, index)) return '.';
      const text = bytesExpression(part.bytes);
      return text.startsWith('%') && parts[index + 1]?.kind === 'repeat' ? `(?:${text})` : text;
    })
    .join('');
}

/** Whether it is `.*` or `.+` and nothing follows: how characters are encoded does not count then. */
function takesTheRest(parts: readonly PatternPart[], index: number): boolean {
  if (parts[index]?.text !== '.' || !/^[*+]$/.test(parts[index + 1]?.text ?? '') || parts[index + 1]?.kind !== 'repeat')
    return false;
  let depth = 0;
  for (let at = index + 2; at < parts.length; at += 1) {
    const { kind, text } = parts[at] as PatternPart;
    // Other alternatives of the same group are passed over.
    if (kind === 'or' && depth === 0) depth = 1;
    else if (kind === 'open' && depth > 0) depth += 1;
    else if (kind === 'close' && depth > 0) {
      depth -= 1;
      if (depth === 0) continue;
    } else if (depth === 0 && kind !== 'close' && text !== '$') return false;
  }
  return depth <= 1;
}

/** Whether it cannot but match the whole path: it ends in `.*`, whatever else it holds. */
function takesEverything(parts: readonly PatternPart[]): boolean {
  const last = parts.findLastIndex(({ kind }) => kind === 'byte');
  if (!takesTheRest(parts, last) || parts[last + 1]?.text !== '*') return false;
  const alternatives = [false];
  for (const { kind } of parts.slice(0, last)) {
    if (kind === 'open') alternatives.push(false);
    else if (kind === 'close') alternatives.pop();
    else if (kind === 'or') alternatives.splice(-1, 1, true);
  }
  return !alternatives.includes(true) && !parts.slice(last).some(({ kind }) => kind === 'or');
}

const ANY = '(?:[^%]|%..)';
const ALL = Array.from({ length: 256 }, (_, code) => code);
const UNRESERVED: ReadonlySet<number> = new Set(ALL.filter((code) => /[\w.~-]/.test(String.fromCharCode(code))));
const FIRST_PRINTABLE = 0x21;
const LAST_PRINTABLE = 0x7e;
const PERCENT = 0x25;
const SLASH = 0x2f;
const BACKSLASH = 0x5c;

/** One character of the path, as it is or encoded. A backslash is as good as a slash. */
function bytesExpression(bytes: Bytes): string {
  if (bytes.size === 256) return ANY;
  const isMost = bytes.size > 128;
  // Of unreserved characters nothing encoded comes, so they are left out, or in, as is shorter.
  const encoded = new Set(
    isMost
      ? ALL.filter((code) => UNRESERVED.has(code) || bytes.has(code))
      : [...bytes].filter((code) => !UNRESERVED.has(code)),
  );
  if (bytes.has(SLASH)) encoded.add(BACKSLASH);
  else if (isMost) encoded.delete(BACKSLASH);
  const plain = isMost
    ? `[^%${classOf(printable((code) => !bytes.has(code)))}]`
    : plainOf(printable((code) => bytes.has(code)));
  if (encoded.size === 0) return plain;
  return plain === '' ? `%${hexadecimal(encoded)}` : `(?:${plain}|%${hexadecimal(encoded)})`;
}

/** Without `%`, which stands for nothing itself; of letters one case is enough. */
function printable(includes: (code: number) => boolean): number[] {
  const codes: number[] = [];
  for (let code = FIRST_PRINTABLE; code <= LAST_PRINTABLE; code += 1) {
    const isCapital = 0x41 <= code && code <= 0x5a;
    if (code !== PERCENT && code !== BACKSLASH && !isCapital && includes(code)) codes.push(code);
  }
  return codes;
}

function plainOf(codes: readonly number[]): string {
  const [only] = codes;
  if (only === undefined) return '';
  return codes.length === 1 ? literal(only) : `[${classOf(codes)}]`;
}

function classOf(codes: readonly number[]): string {
  return rangesOf(codes)
    .map(([first, last]) => {
      if (last - first < 2) return first === last ? literal(first) : literal(first) + literal(last);
      return `${literal(first)}-${literal(last)}`;
    })
    .join('');
}

function rangesOf(codes: readonly number[]): [first: number, last: number][] {
  const ranges: [number, number][] = [];
  for (const code of codes) {
    const range = ranges.at(-1);
    if (range !== undefined && range[1] === code - 1) range[1] = code;
    else ranges.push([code, code]);
  }
  return ranges;
}

function literal(code: number): string {
  const character = String.fromCharCode(code);
  return /[A-Za-z0-9/_~@:;,=&!'<>"`#%]/.test(character) ? character : `\\${character}`;
}

/** Two hexadecimal digits for each of the codes: `2f`, `(?:2[0-9a-e]|5c)`. */
function hexadecimal(codes: ReadonlySet<number>): string {
  const byLow = Map.groupBy(DIGITS, (high) => lowDigits(codes, high));
  const parts = [...byLow].filter(([low]) => low !== '').map(([low, highs]) => digitClass(highs) + low);
  const text = parts.length === 1 ? String(parts[0]) : `(?:${parts.join('|')})`;
  return text === '[0-9a-f][0-9a-f]' ? '..' : text;
}

const DIGITS = Array.from({ length: 16 }, (_, digit) => digit);

function lowDigits(codes: ReadonlySet<number>, high: number): string {
  const low = DIGITS.filter((digit) => codes.has(high * 16 + digit));
  return low.length === 0 ? '' : digitClass(low);
}

function digitClass(digits: readonly number[]): string {
  const codes = digits.map((digit) => digit.toString(16).charCodeAt(0));
  return codes.length === 1 ? String.fromCharCode(Number(codes[0])) : `[${classOf(codes)}]`;
}
