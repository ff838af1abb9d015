/** The middle value; of an even number of values, the mean of the two in the middle. NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export interface Summary {
  readonly median: number;
  readonly max: number;
}

export function summarize(values: readonly number[]): Summary {
  return { median: median(values), max: Math.max(...values) };
}

/** Per field the summary over all rows. */
export function summarizeAll<K extends string>(rows: readonly Readonly<Record<K, number>>[]): Record<K, Summary> {
  const fields = Object.keys(rows[0] ?? {}) as K[];
  return Object.fromEntries(fields.map((field) => [field, summarize(rows.map((row) => row[field]))])) as Record<
    K,
    Summary
  >;
}
