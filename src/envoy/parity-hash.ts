/**
 * A hash of host names that both sides can compute. Envoy's expressions (CEL) have no hash, but they have `matches` and integer
 * addition, and "the number of characters of a set, at even (or odd) positions, is even" is a regular language. One such test is one
 * bit of the hash: a parity, and so linear and cheap.
 *
 * The port, the case and a trailing dot of a host do not matter.
 */

/** The hash of a host: a whole number, 0 … `KEYS - 1`. */
export type HostKey = number;
export const KEYS = 256;

/**
 * One set of letters and digits per bit, the lowest first. Bits 0, 2, … look at the characters at even positions, bits 1, 3, … at
 * those at odd ones.
 *
 * Found by `test/support/parity-hash-search.ts`: random sets spread real host names badly. The sets consist of few intervals since
 * Envoy limits the size of a regular expression. Other sets move every host to another route table: all of them are sent once.
 */
export const SETS: readonly string[] = [
  '012567hijklmstuvw',
  '01234abcdefghiuvwxy',
  '2378fghijklst',
  '012678efghijklmnopqrstu',
  '23456cdefghijpqrstuv',
  '123456efghijklmpqrstuvw',
  '123567fghijklmnopqrs',
  '23456hijklmnopqrstuvw',
];

/** @param host lower case, of at least one character, with or without a port. */
export type ParityHash = (host: string) => HostKey;

/** @param sets one for each bit, of lower-case letters and digits. */
export function createParityHash(sets: readonly string[]): ParityHash {
  const masks = [0, 1].map((parity) => {
    const bits = sets.map((set, bit) => (bit % 2 === parity ? set : ''));
    return Uint16Array.from({ length: 128 }, (_, code) =>
      bits.reduce((mask, set, bit) => (set.includes(String.fromCharCode(code)) ? mask | (1 << bit) : mask), 0),
    );
  });
  return (host) => {
    let key = 0;
    for (let position = 0; position < host.length && host[position] !== ':'; position++) {
      key ^= masks[position % 2]?.[host.charCodeAt(position)] ?? 0;
    }
    return key;
  };
}

export const hostKey: ParityHash = createParityHash(SETS);

/** The CEL expression that computes the hash of the request's host. It has a value for every request. */
export function parityHashExpression(sets: readonly string[] = SETS): string {
  return sets.map((set, bit) => `(request.host.matches('${evenParity(set, bit)}')?0:${1 << bit})`).join('+');
}

/** Every printable character of a host but the colon. Quotes, `%` and `\` mean something to the formatter and cannot stand in a host. */
const HOST_CHARACTERS = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).filter(
  (character) => !`:'"%\\`.includes(character),
);

/** Matches hosts with an even number of characters of the set at the bit's positions. Positive classes only: negated ones are too large. */
function evenParity(set: string, bit: number): string {
  const isInside = (character: string) => set.includes(character.toLowerCase());
  const inside = characterClass(HOST_CHARACTERS.filter(isInside));
  const outside = characterClass(HOST_CHARACTERS.filter((character) => !isInside(character)));
  const any = '[!-9;-~]';
  const first = bit % 2 === 0 ? '' : any;
  const skip = `(?:${outside}${any})*`;
  return `^${first}(?:${outside}${any}|${inside}${any}${skip}${inside}${any})*(?:${outside}?|${inside}${any}${skip}${inside})(?::.*)?$`;
}

/** As few ranges as possible. */
function characterClass(characters: readonly string[]): string {
  const ranges: { first: string; last: string }[] = [];
  for (const character of characters) {
    const current = ranges.at(-1);
    if (current && character.charCodeAt(0) === current.last.charCodeAt(0) + 1) current.last = character;
    else ranges.push({ first: character, last: character });
  }
  const text = ranges.map(({ first, last }) => (first === last ? quoted(first) : `${quoted(first)}-${quoted(last)}`));
  return `[${text.join('')}]`;
}

/** Twice: once for the regular expression, once for the string literal around it. */
function quoted(character: string): string {
  return /[\]\\^-]/.test(character) ? `\\\\${character}` : character;
}
