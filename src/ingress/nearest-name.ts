import { distance } from 'fastest-levenshtein';

const MAX_LENGTH = 64;
const MAX_DIFFERING = 4;

/** Names that were looked for lately: the same misspelling stands in many objects. */
const REMEMBERED = 2048;

/**
 * Finds the name that was probably meant: one in which few characters differ. A lookup takes some microseconds, whatever the name,
 * and one that was made before takes nothing.
 */
export function nearestNameIn(names: readonly string[]): (name: string) => string | undefined {
  const all = names.map((name) => ({ name, ...lettersOf(name) }));
  let remembered = new Map<string, string | undefined>();
  return (name) => {
    if (name.length > MAX_LENGTH) return undefined;
    if (remembered.has(name)) return remembered.get(name);
    const nearest = search(name, all);
    if (remembered.size >= REMEMBERED) remembered = new Map();
    remembered.set(name, nearest);
    return nearest;
  };
}

/** Bits for the characters that occur, and for those that do so again; some share one. */
interface Letters {
  readonly once: number;
  readonly twice: number;
}

interface Known extends Letters {
  readonly name: string;
}

function search(name: string, all: readonly Known[]): string | undefined {
  const { once, twice } = lettersOf(name);
  let nearest: string | undefined;
  let least = Math.min(MAX_DIFFERING, Math.max(1, Math.floor(name.length / 5))) + 1;
  for (const known of all) {
    // As many characters differ at least: each changes the length by one, and takes one letter away, or brings one, or both.
    if (Math.abs(known.name.length - name.length) >= least) continue;
    if (bitsOf(known.once ^ once) + bitsOf(known.twice ^ twice) > 2 * (least - 1)) continue;
    const differing = distance(name, known.name);
    if (differing >= least) continue;
    least = differing;
    nearest = known.name;
  }
  return nearest;
}

function lettersOf(name: string): Letters {
  let [once, twice] = [0, 0];
  for (let index = 0; index < name.length; index++) {
    const bit = 1 << (name.charCodeAt(index) & 31);
    twice |= once & bit;
    once |= bit;
  }
  return { once, twice };
}

/** How many bits of 32 are set: counted in pairs, then in fours, then in bytes, which the product adds up. */
function bitsOf(value: number): number {
  const pairs = value - ((value >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
