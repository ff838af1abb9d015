import { expect, test } from 'vitest';
import { createRefusalReport } from './refusal-report.ts';

function setUp() {
  const lines: string[] = [];
  const clock = { ms: 0 };
  const { report } = createRefusalReport(
    (line) => lines.push(line),
    () => clock.ms,
  );
  return { lines, clock, report };
}

test('the same refusal is told once a minute, others at once', () => {
  const { lines, clock, report } = setUp();
  const refused = { address: '10.0.0.1', reason: 'it shows no certificate' };
  for (clock.ms = 0; clock.ms < 120_000; clock.ms += 1000) report(refused);
  expect(lines).toEqual(Array(2).fill('connection from 10.0.0.1 refused: it shows no certificate'));
  report({ ...refused, address: '10.0.0.2' });
  report({ ...refused, reason: 'its certificate has expired' });
  expect(lines).toHaveLength(4);
});

test('whoever makes up a new reason each time does not fill the log', () => {
  const { lines, clock, report } = setUp();
  for (let index = 0; index < 5000; index++) report({ address: '10.0.0.1', reason: `it claims to be ${index}` });
  expect(lines).toHaveLength(1000);
  clock.ms = 60_001;
  report({ address: '10.0.0.2', reason: 'it shows no certificate' });
  expect(lines).toHaveLength(1001);
});
