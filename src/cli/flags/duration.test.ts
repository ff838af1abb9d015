import { expect, test } from 'vitest';
import { parseDuration } from './duration.ts';

test.each<[string, number]>([
  ['0', 0],
  ['0s', 0],
  ['30s', 30_000],
  ['1m30s', 90_000],
  ['1.5h', 5_400_000],
  ['.5s', 500],
  ['250ms', 250],
  ['1000us', 1],
  ['1000µs', 1],
  ['+2s', 2_000],
  ['1h1m1s1ms', 3_661_001],
])('%s is %d ms', (text, ms) => {
  expect(parseDuration(text)).toBeCloseTo(ms, 9);
});

test.each(['', '10', 's', '-1s', '1 s', '1d', '1s2', '1..5s', '.s', '1S', '1s\n'])('%j is no duration', (text) => {
  expect(parseDuration(text)).toBeUndefined();
});
