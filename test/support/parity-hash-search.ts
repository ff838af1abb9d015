/**
 * Looks for good sets for the parity hash: `node test/support/parity-hash-search.ts --seconds 60 --seed 1` prints the best that it
 * found. Whether Envoy takes their expressions is for `test/envoy/sharding-hash.test.ts` to say.
 */
import { parseArgs } from 'node:util';
import { createParityHash, KEYS } from '../../src/envoy/parity-hash.ts';
import { families } from './host-families.ts';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const DIGITS = '0123456789';
const BITS = Math.log2(KEYS);

export type Random = () => number;

/** Numbers from 0 to 1 that are the same for the same seed, which must not be 0. */
export function createRandom(seed: number): Random {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** One or two intervals of letters and one of digits: more would make the regular expressions too large for Envoy. */
export function randomSet(random: Random): string {
  for (;;) {
    const letters = new Set(interval(LETTERS, random) + (random() < 0.6 ? interval(LETTERS, random) : ''));
    const digits = interval(DIGITS, random);
    const isHalf = letters.size >= 8 && letters.size <= 18 && digits.length >= 3 && digits.length <= 7;
    if (isHalf) return digits + [...letters].toSorted().join('');
  }
}

function interval(characters: string, random: Random): string {
  const ends = [0, 1].map(() => Math.floor(random() * characters.length)).toSorted((a, b) => a - b);
  return characters.slice(ends[0], (ends[1] ?? 0) + 1);
}

/** How many times the ideal the fullest key holds. */
export function fullest(sets: readonly string[], hosts: readonly string[]): number {
  const hash = createParityHash(sets);
  const counts = new Uint32Array(KEYS);
  for (const host of hosts) counts[hash(host)]!++;
  return (Math.max(...counts) * KEYS) / hosts.length;
}

/** The same for the family of hosts that is spread worst. */
export function worstFullest(sets: readonly string[], size: number): number {
  return Math.max(...[...families(size).values()].map((hosts) => fullest(sets, hosts)));
}

function search(seconds: number, random: Random): void {
  const end = performance.now() + seconds * 1000;
  let best = Number.POSITIVE_INFINITY;
  while (performance.now() < end) {
    const sets = Array.from({ length: BITS }, () => randomSet(random));
    const factor = worstFullest(sets, 5_000);
    if (factor >= best) continue;
    best = factor;
    console.log(factor.toFixed(2), JSON.stringify(sets));
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { seconds: { type: 'string' }, seed: { type: 'string' } } });
  search(Number(values.seconds ?? 60), createRandom(Number(values.seed ?? 1)));
}
