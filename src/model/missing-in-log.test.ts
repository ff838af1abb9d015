import { expect, test } from 'vitest';
import { parseLogFormat } from './log-format.ts';
import { missingTexts } from './missing-in-log.ts';

const CASES = [
  ['default', '{"a":$status,"b":"$args"}', ['-', '-']],
  ['none', '{"a":$status,"b":"$args"}', ['', '']],
  ['json', '{"a":$status,"b":"$args"}', ['null', '']],
  ['json', '{"a": "x $args", "b" : [ $status, $msec ] }', ['', 'null', 'null']],
  ['json', '{"\\"":$status,"\\\\":$msec,"c":"\\"$args"}', ['null', 'null', '']],
  ['json', '{"$args":$status}', ['', 'null']],
  ['json', '{"a":$status$msec}', ['', '']],
  ['json', '[$status] "$args" $msec', ['', '', '']],
  ['json', '$status', ['null']],
] as const;

test.each(CASES)('%s: %s', (escaping, text, expected) => {
  const parsed = parseLogFormat(text);
  if ('reason' in parsed) throw new Error(parsed.reason);
  const texts = missingTexts(parsed.value, escaping);
  expect(parsed.value.flatMap((part, index) => (typeof part === 'string' ? [] : [texts[index]]))).toEqual(expected);
});

const DOLLARS = ['5$', '"cost":"5$$"', '$ x', 'a$-b', `$\{}`, `$\{status`, `$\{a-b}`, '$status$', '$é'];

test.each(DOLLARS)('a dollar sign that names no variable is refused, as by nginx: %s', (text) => {
  expect(parseLogFormat(text)).toEqual({
    reason: expect.stringContaining('holds a $ that no name of a variable follows'),
  });
});
