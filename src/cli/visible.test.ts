import { expect, test } from 'vitest';
import { visible } from './visible.ts';

test.each([
  ['a "b" c\\d é 日本 🙂', 'a "b" c\\d é 日本 🙂'],
  ['a\u001b[31mb\u009bc\u007f', 'a\\u001b[31mb\\u009bc\\u007f'],
  ['a\nb\r\tc\u2028d\u2029', 'a\\nb\\r\\tc\\u2028d\\u2029'],
  ['a\u202eb\u202a\u2066c\u2069\u200e\u061c', 'a\\u202eb\\u202a\\u2066c\\u2069\\u200e\\u061c'],
])('%j is shown as %j', (text, shown) => {
  expect(visible(text)).toBe(shown);
});
