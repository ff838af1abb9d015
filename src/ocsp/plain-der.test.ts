import { expect, test } from 'vitest';
import { isPlainResponseData } from './plain-der.ts';

const KEY = 'a2160414'.concat('11'.repeat(20));
const time = (text: string) => `18${text.length.toString(16).padStart(2, '0')}${Buffer.from(text).toString('hex')}`;
const sequence = (...parts: readonly string[]) => {
  const content = parts.join('');
  return `30${(content.length / 2).toString(16).padStart(2, '0')}${content}`;
};
const isPlain = (hex: string) => isPlainResponseData(Buffer.from(hex, 'hex'));

test('what every responder writes', () => {
  expect(isPlain(sequence(KEY, time('20261130101300Z'), sequence()))).toBe(true);
});

test.each([
  ['nothing', ''],
  ['a time with a fraction', sequence(KEY, time('20261130101300.5Z'), sequence())],
  ['a time with a zone', sequence(KEY, time('20261130101300+0000'), sequence())],
  ['a time without a zone', sequence(KEY, time('20261130101300'), sequence())],
  ['a time inside', sequence(KEY, time('20261130101300Z'), sequence(sequence(time('20261130101300'))))],
  ['a version', sequence('a003020100', KEY, time('20261130101300Z'), sequence())],
  ['an indefinite length', `3080${KEY}0000`],
  ['an indefinite length inside', sequence(`a280${'0414'.concat('11'.repeat(20))}0000`)],
  ['a length that could be shorter', `308118${KEY}`],
  ['a length with a zero in front', `30820018${KEY}`],
  ['a length beyond the end', `3019${KEY}`],
  ['something behind', `${sequence(KEY)}00`],
  ['nesting without end', `${'30'.repeat(40)}`],
])('%s is not', (_, hex) => {
  expect(isPlain(hex)).toBe(false);
});
