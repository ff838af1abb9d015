import { distance } from 'fastest-levenshtein';

const MAX_LENGTH = 64;

/** The name that was probably meant: one in which few characters differ. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  let nearest: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 5)) + 1;
  for (const known of names) {
    // As many characters differ at least.
    if (Math.abs(known.length - name.length) >= least) continue;
    const differing = distance(name, known);
    if (differing >= least) continue;
    least = differing;
    nearest = known;
  }
  return nearest;
}
