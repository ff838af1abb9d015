/**
 * The spellings of a path, as expressions of RE2: nginx decodes a path before it looks for the location, Envoy decodes unreserved
 * characters alone (RFC 3986, section 2.3).
 */
import type { PathMatch } from '../model/proxy-model.ts';

/** Envoy limits what an expression may take. */
const MAX_UNITS = 1_000;
/** An encoded byte, or one character. */
const UNIT = /%[\da-f]{2}|./gis;
const UNRESERVED = /^[\w.~-]$/;

/** Whether Envoy makes one spelling of all. */
export function hasOneSpelling(path: string): boolean {
  return /^[\w.~/-]*$/.test(path);
}

/** `undefined` for a path that is too long. @param separator what counts as a slash */
export function everySpelling(match: PathMatch, separator = '/'): string | undefined {
  const { text, isWhole } = spelt(match.path, separator);
  if (!isWhole) return undefined;
  return match.kind === 'exact' ? text : `${text}(?:${separator}.*)?`;
}

/** All that begins like it, where the path is too long. */
export function atLeastEverySpelling(match: PathMatch, separator: string): string {
  return everySpelling(match, separator) ?? `${spelt(match.path, separator).text}.*`;
}

function spelt(path: string, separator: string): { readonly text: string; readonly isWhole: boolean } {
  const units = path.match(UNIT) ?? [];
  const text = units.slice(0, MAX_UNITS).map((unit) => (unit === '/' ? separator : spellingsOf(unit)));
  return { text: text.join(''), isWhole: units.length <= MAX_UNITS };
}

function spellingsOf(unit: string): string {
  const code = codeOf(unit);
  const character = String.fromCharCode(code);
  if (UNRESERVED.test(character)) return literal(character);
  const hex = hexOf(code);
  const encoded = /[a-f]/.test(hex) ? `%(?i:${hex})` : `%${hex}`;
  return code > 0x20 && code < 0x7f && character !== '%' ? `(?:${literal(character)}|${encoded})` : encoded;
}

/** The characters of a path that have more than one spelling. */
export function manifoldCodes(path: string): number[] {
  return (path.match(UNIT) ?? []).map(codeOf).filter((code) => !UNRESERVED.test(String.fromCharCode(code)));
}

export function hexOf(code: number): string {
  return code.toString(16).padStart(2, '0');
}

function codeOf(unit: string): number {
  return unit.length === 3 ? Number.parseInt(unit.slice(1), 16) : unit.charCodeAt(0);
}

function literal(character: string): string {
  return character.replace(/[.*+?^${}()|[\]\\]/, '\\$&');
}
