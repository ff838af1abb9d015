/** The name that was probably meant, if one is near enough. */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  // A third of the letters may be wrong; more, and it is another word.
  let least = Math.floor(name.length / 3) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(name, candidate, least);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

/** How many letters have to be added, left out or changed; `limit` as soon as it cannot be less. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const changed = (previous[column - 1] ?? 0) + Number(a[row - 1] !== b[column - 1]);
      current.push(Math.min(changed, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    if (Math.min(...current) >= limit) return limit;
    previous = current;
  }
  return previous.at(-1) ?? limit;
}
