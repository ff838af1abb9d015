/** Sets of bytes in regular expressions, in which the case of letters never counts. */

export type Bytes = ReadonlySet<number>;

export const ALL_BYTES: Bytes = new Set(Array.from({ length: 256 }, (_, code) => code));

/** Of a character; of a letter in both cases. */
export function bytesOf(code: number): Bytes {
  return inBothCases(new Set([code]));
}

const range = (from: string, to: string) => codesBetween(from.charCodeAt(0), to.charCodeAt(0));
const DIGITS = range('0', '9');
const LETTERS = [...range('a', 'z'), ...range('A', 'Z')];
const WORD = [...LETTERS, ...DIGITS, ...codesOf('_')];
const SPACE = codesOf(' \t\n\v\f\r');
const GRAPHIC = range('!', '~');

/** What stands for a set behind a backslash. */
const ESCAPES: Readonly<Record<string, Bytes>> = {
  d: new Set(DIGITS),
  D: without(DIGITS),
  w: new Set(WORD),
  W: without(WORD),
  s: new Set(SPACE),
  S: without(SPACE),
};

export function escapedSet(letter: string): Bytes | undefined {
  return Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
}

const CONTROLS: Readonly<Record<string, number>> = { a: 7, e: 27, f: 12, n: 10, r: 13, t: 9 };

/** The character behind a backslash, where that is one. */
export function escapedCharacter(character: string): number | undefined {
  if (Object.hasOwn(CONTROLS, character)) return CONTROLS[character];
  return /[A-Za-z0-9]/.test(character) ? undefined : character.charCodeAt(0);
}

/** `[:alpha:]` */
const NAMED: Readonly<Record<string, readonly number[]>> = {
  alnum: [...LETTERS, ...DIGITS],
  alpha: LETTERS,
  ascii: codesBetween(0, 127),
  blank: codesOf(' \t'),
  cntrl: [...codesBetween(0, 31), 127],
  digit: DIGITS,
  graph: GRAPHIC,
  lower: LETTERS,
  print: [...codesOf(' '), ...GRAPHIC],
  punct: GRAPHIC.filter((code) => !/[A-Za-z0-9]/.test(String.fromCharCode(code))),
  space: SPACE,
  upper: LETTERS,
  word: WORD,
  xdigit: [...DIGITS, ...range('a', 'f'), ...range('A', 'F')],
};

const NAME = /\[:(\^?)([a-z]+):\]/y;
const OTHER_NAME = /\[([:.=]).*?\1\]/y;
const HEXADECIMAL = /\\x([0-9a-f]{2})/iy;

/** The class that begins at the bracket at `start`; `end` is behind it. */
export function readClass(
  text: string,
  start: number,
): { readonly bytes: Bytes; readonly end: number } | { readonly reason: string } {
  let at = start + 1;
  const negated = text[at] === '^';
  if (negated) at += 1;
  const members = new Set<number>();
  // A bracket at the beginning is a member.
  for (let first = true; text[at] !== ']' || first; first = false) {
    const item = readItem(text, at);
    if ('reason' in item) return item;
    at = item.end;
    const isRange = text[at] === '-' && at + 1 < text.length && text[at + 1] !== ']';
    if (!isRange) {
      for (const code of item.bytes) members.add(code);
      continue;
    }
    const last = readItem(text, at + 1);
    if ('reason' in last) return last;
    if (item.code === undefined || last.code === undefined)
      return { reason: 'a set of characters at the end of a range' };
    if (last.code < item.code) return { reason: 'a range of characters in reverse order' };
    for (const code of codesBetween(item.code, last.code)) members.add(code);
    at = last.end;
  }
  // PCRE takes it for a name, and refuses it.
  if (LIKE_A_NAME.test(text.slice(start, at + 1))) return { reason: 'the name of a class outside of a class' };
  const bytes = inBothCases(members);
  return { bytes: negated ? without(bytes) : bytes, end: at + 1 };
}

const LIKE_A_NAME = /^\[([:.=]).*\1\]$/;

type ClassItem =
  | { readonly bytes: Iterable<number>; readonly code?: number; readonly end: number }
  | { readonly reason: string };

function readItem(text: string, at: number): ClassItem {
  const character = text[at];
  if (character === undefined) return { reason: 'a class of characters without an end' };
  const named = match(NAME, text, at);
  const codes = named === undefined ? undefined : NAMED[named[2] ?? ''];
  if (codes !== undefined) return { bytes: named?.[1] === '^' ? without(codes) : codes, end: NAME.lastIndex };
  if (match(OTHER_NAME, text, at)) return { reason: 'a class of characters by a name that is not known' };
  if (character !== '\\') return single(character.charCodeAt(0), at + 1);
  const [, hexadecimal] = match(HEXADECIMAL, text, at) ?? [];
  if (hexadecimal !== undefined) return single(Number.parseInt(hexadecimal, 16), HEXADECIMAL.lastIndex);
  const escaped = text[at + 1] ?? '';
  const set = escapedSet(escaped);
  if (set !== undefined) return { bytes: set, end: at + 2 };
  const code = escaped === 'b' ? 8 : escapedCharacter(escaped);
  return code === undefined || escaped === ''
    ? { reason: `\\${escaped} in a class of characters` }
    : single(code, at + 2);
}

function single(code: number, end: number): ClassItem {
  return { bytes: [code], code, end };
}

function match(expression: RegExp, text: string, at: number): RegExpExecArray | undefined {
  expression.lastIndex = at;
  return expression.exec(text) ?? undefined;
}

function inBothCases(codes: ReadonlySet<number>): Bytes {
  const both = new Set(codes);
  for (const code of codes) {
    const character = String.fromCharCode(code);
    if (!/[A-Za-z]/.test(character)) continue;
    both.add(character.toLowerCase().charCodeAt(0));
    both.add(character.toUpperCase().charCodeAt(0));
  }
  return both;
}

function without(codes: Iterable<number>): Bytes {
  const excluded = new Set(codes);
  return new Set([...ALL_BYTES].filter((code) => !excluded.has(code)));
}

function codesBetween(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

function codesOf(text: string): number[] {
  return Array.from(text, (character) => character.charCodeAt(0));
}
