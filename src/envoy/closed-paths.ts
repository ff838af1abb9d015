/**
 * Paths in other spellings. nginx decodes a path before it looks for the location, and so do many backends; Envoy compares most
 * encoded characters as they are written (`%2F`, `%40`, or `%c3` beside `%C3`). Where a closed path stands beside open ones, another
 * spelling of it must not reach an open one.
 */
import type { envoy_config_route_v3_Route as RouteMessage } from '../gen/messages.ts';
import type { PathMatch } from '../model/proxy-model.ts';
import type { RouteView } from './http-view.ts';

/** To stand before the routes of the host. None where nothing is closed, or no route leads to a backend. */
export function closedSpellings(routes: readonly RouteView[]): RouteMessage[] {
  const below = routes.flatMap((route) => (isClosed(route) && route.match.path !== '/' ? [route.match] : []));
  if (below.length === 0 || !routes.some(({ action }) => action.kind === 'forward')) return [];
  const spelt = { name: ':path', string_match: { safe_regex: { regex: encodesAnyOf(below) } } };
  return [
    AMBIGUOUS,
    ...below.map((match) => ({
      match: { safe_regex: { regex: anySpelling(match) }, headers: [spelt] },
      direct_response: { status: UNAVAILABLE },
    })),
  ];
}

const UNAVAILABLE = 503;

function isClosed({ action }: RouteView): boolean {
  return action.kind === 'respond' && action.status === UNAVAILABLE;
}

/** An encoded slash or backslash beside nothing or a dot element: what it means depends on who decodes it, and when. */
const AMBIGUOUS: RouteMessage = {
  match: {
    safe_regex: {
      regex:
        '(?i).*(?:/|%2f|%5c)(?:\\.|%2e){0,2}(?:;[^/]*)?(?:%2f|%5c).*|(?i).*(?:%2f|%5c)(?:\\.|%2e){0,2}(?:;[^/]*)?(?:(?:/|%2f|%5c).*)?',
    },
  },
  direct_response: { status: 400 },
};

const SEPARATOR = '(?:/|%2[fF]|%5[cC])';
/** Envoy limits what an expression may take. Of a longer path the beginning is enough: more is closed, never less. */
const MAX_UNITS = 1_000;
/** An encoded byte, or one character. */
const UNIT = /%[\da-f]{2}|./gis;
/** Envoy decodes these itself (RFC 3986, section 2.3). */
const UNRESERVED = /^[\w.~-]$/;

function anySpelling({ kind, path }: PathMatch): string {
  const units = path.match(UNIT) ?? [];
  const text = units.slice(0, MAX_UNITS).map(spellingsOf).join('');
  if (units.length > MAX_UNITS) return `${text}.*`;
  return kind === 'exact' ? text : `${text}(?:${SEPARATOR}.*)?`;
}

function spellingsOf(unit: string): string {
  if (unit === '/') return SEPARATOR;
  const code = codeOf(unit);
  const character = String.fromCharCode(code);
  if (UNRESERVED.test(character)) return literal(character);
  const encoded = `%(?i:${hexOf(code)})`;
  return code > 0x20 && code < 0x7f ? `(?:${literal(character)}|${encoded})` : encoded;
}

/** Holds for targets that encode, before the query, a separator or a character of the paths. */
function encodesAnyOf(matches: readonly PathMatch[]): string {
  const codes = new Set([0x2f, 0x5c]);
  for (const { path } of matches) {
    for (const unit of path.match(UNIT) ?? []) {
      const code = codeOf(unit);
      if (!UNRESERVED.test(String.fromCharCode(code))) codes.add(code);
    }
  }
  const hex = [...codes].sort((a, b) => a - b).map(hexOf);
  return `[^?]*%(?i:${hex.join('|')}).*`;
}

function codeOf(unit: string): number {
  return unit.length === 3 ? Number.parseInt(unit.slice(1), 16) : unit.charCodeAt(0);
}

function hexOf(code: number): string {
  return code.toString(16).padStart(2, '0');
}

function literal(character: string): string {
  return character.replace(/[.*+?^${}()|[\]\\]/, '\\$&');
}
