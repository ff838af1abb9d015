/**
 * Which of two resourceVersions of one kind is newer: negative when `a` is older, positive when it is newer. They are decimal
 * numbers without leading zeros, which may be too large for a number of this language.
 */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : Number(a > b);
}
