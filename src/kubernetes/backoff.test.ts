import { expect, it } from 'vitest';
import { Backoff } from './backoff.ts';
import { compareVersions } from './version.ts';

it('delays double up to their cap, and begin anew', () => {
  const backoff = new Backoff({ baseMs: 100, capMs: 1000, random: () => 1 });
  expect([1, 2, 3, 4, 5, 6].map(() => backoff.next())).toEqual([100, 200, 400, 800, 1000, 1000]);
  for (let i = 0; i < 2000; i += 1) expect(backoff.next()).toBe(1000);
  backoff.reset();
  expect(backoff.next()).toBe(100);
});

it('delays are spread over their second half', () => {
  expect(new Backoff({ baseMs: 100, capMs: 1000, random: () => 0 }).next()).toBe(50);
});

it.each([
  ['9', '10', -1],
  ['10', '9', 1],
  ['123', '123', 0],
  ['18446744073709551615', '18446744073709551614', 1],
])('of the versions %s and %s the newer one is known', (a, b, order) => {
  expect(Math.sign(compareVersions(a, b))).toBe(order);
});
