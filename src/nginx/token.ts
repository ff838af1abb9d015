import { Expanded, Literal, Pattern, quote } from './quote.ts';

/** nginx reads no token of 4096 bytes or more, and with one it reads none of the configuration. */
export const MAX_TOKEN_BYTES = 4_000;

/** Whether some text in what a template writes would be too long for nginx as one token. */
export function holdsTooLong(value: unknown): boolean {
  if (typeof value === 'string' || value instanceof Literal || value instanceof Pattern || value instanceof Expanded)
    return Buffer.byteLength(quote(value)) > MAX_TOKEN_BYTES;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(holdsTooLong);
}
