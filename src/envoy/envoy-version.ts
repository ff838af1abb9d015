/** The Envoy that this release is built for and tested with: `src/gen` is its schema. */
export const pinnedVersion = '1.40.0';

/** Older proxies would ignore fields that protect backends without a word. */
export const minimumVersion = '1.40.0';

/** `major.minor.patch` as numbers; a suffix such as `-dev` is ignored. */
export function isAtLeast(version: string, minimum: string): boolean {
  const [a, b] = [numbers(version), numbers(minimum)];
  for (let i = 0; i < 3; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

function numbers(version: string): number[] {
  return version.split('.').map((part) => Number.parseInt(part, 10));
}
