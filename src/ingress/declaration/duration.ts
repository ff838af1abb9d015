import { type Codec, codec } from './codec.ts';

const SECONDS: Readonly<Record<string, number>> = {
  ms: 0.001,
  '': 1,
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 7 * 86_400,
  M: 30 * 86_400,
  y: 365 * 86_400,
};

/** A time as nginx writes it, in whole seconds: `90s`, `1h 30m`; without a unit seconds. At least one. */
export const duration: Codec<number> = codec('a time such as 90s, 10m or 1h 30m', (text) => {
  const part = /(\d{1,9})(ms|[smhdwMy]?) */y;
  let seconds = 0;
  while (part.lastIndex < text.length) {
    const [, digits, unit = ''] = part.exec(text) ?? [];
    if (digits === undefined) return undefined;
    seconds += Number(digits) * (SECONDS[unit] ?? 0);
  }
  const whole = Math.ceil(seconds);
  return 1 <= whole && whole <= MAX_SECONDS ? whole : undefined;
});

/** What fits into the milliseconds of nginx. */
const MAX_SECONDS = 2 ** 31 / 1000;
