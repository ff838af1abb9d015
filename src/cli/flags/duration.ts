const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};
const PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;
const WHOLE = new RegExp(`^\\+?(?:0|(?:${PART.source})+)$`);

/** Milliseconds of a duration as Go writes it: `30s`, `1m30s`, `1.5h`, `0`. `undefined` for anything else, negative ones included. */
export function parseDuration(text: string): number | undefined {
  if (!WHOLE.test(text)) return undefined;
  return [...text.matchAll(PART)].reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (UNITS[unit] ?? 0), 0);
}
