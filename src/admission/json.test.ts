import { describe, expect, it } from 'vitest';
import { parseJson } from './json.ts';

const parse = (text: string) => parseJson(Buffer.from(text));
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('bodies', () => {
  it('are taken up to 100 levels and 500,000 maps and lists', () => {
    expect(() => parse(nested(100))).not.toThrow();
    expect(() => parse(nested(101))).toThrow('more than 100 levels');
    expect(() => parse(`[${'{},'.repeat(499_998)}{}]`)).not.toThrow();
    expect(() => parse(`[${'{},'.repeat(499_999)}{}]`)).toThrow('more than 500000 maps and lists');
  });

  it.each(['['.repeat(200), '{'.repeat(200), '\\"['.repeat(200), '"\\'.repeat(200)])(
    'brackets in texts are text',
    (text) => {
      const value = { [text]: text };
      expect(parse(JSON.stringify(value))).toEqual(value);
    },
  );

  it.each(['', '[', '"', '"\\', ']', '\u0000', '\ufeff{}'])('%j is no JSON', (text) => {
    expect(() => parse(text)).toThrow(SyntaxError);
  });
});
