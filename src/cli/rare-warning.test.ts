import { expect, test } from 'vitest';
import { createRareWarning } from './rare-warning.ts';

function setUp() {
  const lines: string[] = [];
  const clock = { ms: 0 };
  const warn = createRareWarning(
    (line) => lines.push(line),
    () => clock.ms,
  );
  return { lines, clock, warn };
}

test('the same is said once a minute, others at once', () => {
  const { lines, clock, warn } = setUp();
  for (clock.ms = 0; clock.ms < 120_000; clock.ms += 1000) warn('refused');
  expect(lines).toEqual(['refused', 'refused']);
  warn('something else');
  expect(lines).toHaveLength(3);
});

test('whoever makes up something new each time does not fill the log', () => {
  const { lines, clock, warn } = setUp();
  for (let index = 0; index < 5000; index++) warn(`it claims to be ${index}`);
  expect(lines).toHaveLength(1000);
  clock.ms = 60_001;
  warn('it shows no certificate');
  expect(lines).toHaveLength(1001);
});
