import { expect, test } from 'vitest';
import { parseLogLine } from './command-line.ts';

test.each([
  ['{"level":"warning","logger":"config","message":"a \\"b\\"\\nc"}', { level: 'warn', message: 'config: a "b"\nc' }],
  ['{"level":"critical","logger":"main","message":"x"}', { level: 'error', message: 'main: x' }],
  ['{"level":"trace","logger":"http","message":"x"}', { level: 'debug', message: 'http: x' }],
  [
    '{"level":"warning","logger":"main","message":"caught ENVOY_SIGTERM"}',
    { level: 'debug', message: 'caught ENVOY_SIGTERM' },
  ],
  ['PARSE ERROR: Argument: --concurrency', { level: 'error', message: 'PARSE ERROR: Argument: --concurrency' }],
  ['{"level":"info","logger":"cut', { level: 'error', message: '{"level":"info","logger":"cut' }],
])('reads the line %s', (line, expected) => {
  expect(parseLogLine(line)).toEqual(expected);
});
