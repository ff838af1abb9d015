/**
 * Regular expressions that users write as paths, in the dialect of nginx (PCRE). They are read into parts, so that an emitter writes
 * only what its proxy is known to take: one expression that Envoy or nginx refuses costs the configuration of every host.
 */
import { ALL_BYTES, type Bytes, bytesOf, escapedCharacter, escapedSet, readClass } from './character-class.ts';

export type PatternPart = {
  /** As nginx takes it. */
  readonly text: string;
  /** Set where only PCRE has it: what it is called. */
  readonly pcreOnly?: string;
} & (
  | { readonly kind: 'byte'; readonly bytes: Bytes }
  | { readonly kind: 'open'; readonly captures: boolean }
  | { readonly kind: 'close' }
  | { readonly kind: 'or' }
  | { readonly kind: 'repeat' }
  /** `^`, `$` and such, which take no character. */
  | { readonly kind: 'assert' }
);

export interface PathPattern {
  readonly parts: readonly PatternPart[];
  /** How many groups capture. */
  readonly captures: number;
  /** Whether it has alternatives that no group holds together; only the first of them is bound to the beginning of the path. */
  readonly alternatives: boolean;
}

/** `reason` names what is wrong, or what no proxy is given: `a group without an end`. */
export type ParsedPattern = PathPattern | { readonly reason: string };

const MAX_LENGTH = 1000;
const MAX_DEPTH = 100;
/** The largest number of repetitions that RE2 takes, also of those inside each other. */
const MAX_REPEAT = 1000;
/** Bounds the size of what a proxy compiles. */
const MAX_SIZE = 2_000;

export function parsePattern(text: string): ParsedPattern {
  if (text.length > MAX_LENGTH) return { reason: `more than ${MAX_LENGTH} characters` };
  if (!/^[\x21-\x7e]*$/.test(text)) return { reason: 'characters that stand in no request path' };
  const parts: PatternPart[] = [];
  for (let at = 0; at < text.length; ) {
    const read = readPart(text, at, parts.at(-1));
    if ('reason' in read) return read;
    parts.push(read.part);
    at = read.end;
  }
  return check(parts);
}

type Read = { readonly part: PatternPart; readonly end: number } | { readonly reason: string };

const ENCODED = /%([0-9a-f]{2})/iy;
const REPEAT = /(?:[*+?]|\{(\d{1,5})(,(\d{0,5}))?\})([?+]?)/y;
const GROUP = /\((?:\?(?:(:)|(P?<[A-Za-z_]\w{0,31}>|'[A-Za-z_]\w{0,31}')|(=|!|>)|([is]{1,2})([:)])))?/y;
const SIMPLE: Readonly<Record<string, PatternPart>> = {
  ')': { kind: 'close', text: ')' },
  '|': { kind: 'or', text: '|' },
  '^': { kind: 'assert', text: '^' },
  $: { kind: 'assert', text: '$' },
  '.': { kind: 'byte', text: '.', bytes: ALL_BYTES },
};
const ONLY_PCRE: Readonly<Record<string, string>> = {
  '=': 'a look-ahead (?=…)',
  '!': 'a negative look-ahead (?!…)',
  '>': 'an atomic group (?>…)',
};

function readPart(text: string, at: number, before: PatternPart | undefined): Read {
  const character = text[at] ?? '';
  const simple = SIMPLE[character];
  if (simple !== undefined) return { part: simple, end: at + 1 };
  switch (character) {
    case '[': {
      const read = readClass(text, at);
      if ('reason' in read) return read;
      return { part: { kind: 'byte', text: text.slice(at, read.end), bytes: read.bytes }, end: read.end };
    }
    case '(':
      return readGroup(text, at);
    case '\\':
      return readEscape(text, at, before);
    case '*':
    case '+':
    case '?':
    case '{':
      return readRepeat(text, at, before);
    default:
      return readLiteral(text, at);
  }
}

/** A percent-encoded byte is that byte, as in paths that are no expressions. */
function readLiteral(text: string, at: number): Read {
  const encoded = at + 2 < text.length ? matched(ENCODED, text, at)?.[1] : undefined;
  if (encoded !== undefined) return { part: byte(Number.parseInt(encoded, 16)), end: at + 3 };
  return { part: byte(text.charCodeAt(at)), end: at + 1 };
}

function byte(code: number): PatternPart {
  const character = String.fromCharCode(code);
  const hexadecimal = `\\x${code.toString(16).padStart(2, '0')}`;
  const text = PRINTABLE.test(character) ? character.replace(SPECIAL, '\\$&') : hexadecimal;
  return { kind: 'byte', text, bytes: bytesOf(code) };
}

const PRINTABLE = /^[\x21-\x7e]$/;
const SPECIAL = /[.*+?^${}()|[\]\\]/;

function readGroup(text: string, at: number): Read {
  const [whole = '(', plain, name, only, flags, after] = matched(GROUP, text, at) ?? [];
  const end = at + whole.length;
  if (whole === '(') {
    if (text[end] === '?' || text[end] === '*')
      return { reason: `a group ${text.slice(at, at + 4)}… of a kind that is not known here` };
    return { part: { kind: 'open', text: '(', captures: true }, end };
  }
  // nginx would make a variable of a name.
  if (name !== undefined) return { part: { kind: 'open', text: '(', captures: true }, end };
  if (plain !== undefined) return { part: { kind: 'open', text: '(?:', captures: false }, end };
  if (only !== undefined)
    return { part: { kind: 'open', text: whole, captures: false, pcreOnly: ONLY_PCRE[only] ?? whole }, end };
  if (after === ':') return { part: { kind: 'open', text: whole, captures: false }, end };
  return flags === undefined ? { reason: whole } : { part: { kind: 'assert', text: whole }, end };
}

const HEXADECIMAL = /\\x(?:\{([0-9a-f]{1,2})\}|([0-9a-f]{2}))/iy;
/** Sets of characters that RE2 has no short form for. */
const ONLY_PCRE_ESCAPES = new Set(['h', 'H', 'v', 'V', 'R', 'N', 'X']);

function readEscape(text: string, at: number, before: PatternPart | undefined): Read {
  const hexadecimal = matched(HEXADECIMAL, text, at);
  if (hexadecimal !== undefined)
    return { part: byte(Number.parseInt(hexadecimal[1] ?? hexadecimal[2] ?? '', 16)), end: HEXADECIMAL.lastIndex };
  const escaped = text[at + 1] ?? '';
  const whole = `\\${escaped}`;
  const end = at + 2;
  if (escaped === '') return { reason: 'a \\ at the end' };
  const set = escapedSet(escaped);
  if (set !== undefined) return { part: { kind: 'byte', text: whole, bytes: set }, end };
  const code = escapedCharacter(escaped);
  if (code !== undefined) return { part: byte(code), end };
  if (/[AzZ]/.test(escaped)) return { part: { kind: 'assert', text: escaped === 'Z' ? '\\z' : whole }, end };
  if (/[bB]/.test(escaped)) {
    // Behind a letter it means the same in a path with encoded characters, elsewhere it may not.
    const exact = escaped === 'b' && before?.kind === 'byte' && [...before.bytes].every(isWord);
    return { part: { kind: 'assert', text: whole, ...(exact ? {} : { pcreOnly: `the word boundary ${whole}` }) }, end };
  }
  if (/[1-9]/.test(escaped)) {
    if (/\d/.test(text[end] ?? '')) return { reason: `the back-reference ${whole}${text[end]}` };
    return { part: { kind: 'assert', text: whole, pcreOnly: `the back-reference ${whole}` }, end };
  }
  if (ONLY_PCRE_ESCAPES.has(escaped))
    return { part: { kind: 'byte', text: whole, bytes: ALL_BYTES, pcreOnly: whole }, end };
  return { reason: `the escape ${whole}` };
}

function isWord(code: number): boolean {
  return /\w/.test(String.fromCharCode(code));
}

function readRepeat(text: string, at: number, before: PatternPart | undefined): Read {
  const read = matched(REPEAT, text, at);
  // A brace that is no repetition stands for itself.
  if (read === undefined) return readLiteral(text, at);
  const [whole, from, comma, to, mode] = read;
  const end = at + whole.length;
  if (before === undefined || before.kind === 'open' || before.kind === 'or')
    return { reason: `${whole} with nothing to repeat` };
  if (before.kind === 'assert' || before.kind === 'repeat') return { reason: `${before.text}${whole}` };
  if (Number(from ?? 0) > MAX_REPEAT || Number(to ?? 0) > MAX_REPEAT)
    return { reason: `${whole}, more than ${MAX_REPEAT} repetitions` };
  if (comma !== undefined && to !== undefined && to !== '' && Number(to) < Number(from))
    return { reason: `${whole}, a range in reverse order` };
  const pcreOnly = mode === '+' ? { pcreOnly: `the possessive quantifier ${whole}` } : {};
  return { part: { kind: 'repeat', text: whole, ...pcreOnly }, end };
}

/** What can be told only of the whole: groups that close, references to groups that are there, and its size. */
function check(parts: readonly PatternPart[]): ParsedPattern {
  let alternatives = false;
  /** Of each open group and of the whole: how much there is to compile. */
  const sizes = [0];
  /** The size of what stands before a repetition, and the largest repetition inside it. */
  let last = { size: 0, repeat: 1 };
  const repeats = [1];
  for (const part of parts) {
    switch (part.kind) {
      case 'open':
        sizes.push(0);
        repeats.push(1);
        if (sizes.length > MAX_DEPTH) return { reason: `more than ${MAX_DEPTH} groups inside each other` };
        break;
      case 'close': {
        const [size, repeat] = [sizes.pop() ?? 0, repeats.pop() ?? 1];
        if (sizes.length === 0) return { reason: 'a ) without its (' };
        last = { size, repeat };
        grow(size, repeat);
        break;
      }
      case 'repeat': {
        const times = Math.max(...(part.text.match(/\d+/g) ?? ['1']).map(Number), 1);
        grow(last.size * (times - 1), last.repeat * times);
        break;
      }
      case 'or':
        alternatives ||= sizes.length === 1;
        break;
      default:
        last = { size: 1, repeat: 1 };
        grow(1, 1);
    }
    if ((sizes.at(-1) ?? 0) > MAX_SIZE || (repeats.at(-1) ?? 0) > MAX_REPEAT)
      return { reason: 'too many repetitions inside each other' };
  }
  function grow(size: number, repeat: number) {
    sizes.push((sizes.pop() ?? 0) + size);
    repeats.push(Math.max(repeats.pop() ?? 1, repeat));
  }
  if (sizes.length > 1) return { reason: 'a ( without its )' };
  const captures = parts.filter((part) => part.kind === 'open' && part.captures).length;
  const missing = parts.find(
    ({ kind, text }) => kind === 'assert' && /^\\[1-9]$/.test(text) && Number(text[1]) > captures,
  );
  if (missing) return { reason: `the back-reference ${missing.text} to a group that is not there` };
  return { parts, captures, alternatives };
}

function matched(expression: RegExp, text: string, at: number): RegExpExecArray | undefined {
  expression.lastIndex = at;
  return expression.exec(text) ?? undefined;
}
