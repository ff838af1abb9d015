import { expect, test } from 'vitest';
import { isRegex } from './regex.ts';

test.each([
  'curl/\\d+$',
  '^Mozilla/5\\.0 \\(X11; Linux',
  'a|b c|"\\$1"',
  '(?i)bot|[[:alpha:]]+x',
  '(a|b){1,3}?',
  'ü [ä-ö]',
  '\\\\(?:x)',
  'a%20b',
])('%s is one', (text) => {
  expect(isRegex(text)).toBe(true);
});

test.each([
  ['look-around', '(?!x)'],
  ['look-around', '(?<=x)y'],
  ['a back-reference', '(a)\\1'],
  ['a possessive quantifier', 'a++'],
  ['a quotation without an end, which goes on behind it', '\\Qa.b'],
  ['a name that is a variable of nginx', '(?P<remote_addr>x)'],
  ['a name that is too long for nginx', `(?<${'n'.repeat(33)}>x)`],
  ['a character that is no byte', '\\x{100}'],
  ['a character that is no byte', '\\777'],
  ['a class of Unicode that one of them may not know', '\\p{Kawi}'],
  ['a named class outside of a class', '[:alpha:]'],
  ['a range with a class as its end', '[\\d-z]'],
  ['more repetitions than RE2 takes', '(?:a{50}){50}'],
  ['more than fits', 'x'.repeat(513)],
])('%s: %.40s is none', (_, text) => {
  expect(isRegex(text)).toBe(false);
});
