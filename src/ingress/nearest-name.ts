import { distance } from 'fastest-levenshtein';

const MAX_LENGTH = 64;

/** The name that was probably meant: one in which few characters differ. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const best = names
    .map((known) => ({ known, distance: distance(name, known) }))
    .reduce((a, b) => (b.distance < a.distance ? b : a), { known: '', distance: Number.POSITIVE_INFINITY });
  return best.distance <= Math.max(1, Math.floor(name.length / 5)) ? best.known : undefined;
}
