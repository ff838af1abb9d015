import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseConf } from '../../test/support/nginx-conf.ts';
import { DOLLAR_VARIABLE, escapeRegex, Literal, Pattern, quote } from './quote.ts';

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom(...'"\'\\{$};# \n\r\tnrt~^<%=>a') }),
);
const withoutNul = anyText.filter((text) => !text.includes('\0'));

/** What nginx reads as the only parameter of a directive. */
function read(token: string): string {
  const directives = parseConf(`before "x"; name ${token}; after {}`);
  expect(directives.map(({ name }) => name)).toEqual(['before', 'name', 'after']);
  const [argument, ...more] = directives[1]?.args ?? [];
  expect(more).toEqual([]);
  return argument?.text ?? '';
}

const VARIABLE = `\${${DOLLAR_VARIABLE}}`;

describe('whatever it is, nginx reads it as one parameter that is the same text', () => {
  test('where variables are expanded', () => {
    fc.assert(
      fc.property(withoutNul, (text) => {
        const seen = read(quote(text));
        expect(seen.replaceAll(VARIABLE, '')).not.toContain('$');
        expect(seen.replaceAll(VARIABLE, '$')).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  test('where they are not', () => {
    fc.assert(
      fc.property(withoutNul, (text) => {
        expect(read(quote(new Literal(text)))).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  test('a regular expression, with all that belongs to it', () => {
    expect(read(quote(new Pattern('~^[\\w-]+\\.a{2}"$')))).toBe('~^[\\w-]+\\.a{2}"$');
  });
});

test('an escaped text is a regular expression for just itself', () => {
  fc.assert(
    fc.property(anyText, anyText, (text, other) => {
      const matches = (candidate: string) => candidate.match(new RegExp(`^${escapeRegex(text)}$`))?.[0] === candidate;
      expect(matches(text)).toBe(true);
      if (other !== text) expect(matches(other)).toBe(false);
    }),
    { numRuns: 2000 },
  );
});

test('what cannot be written is refused', () => {
  for (const value of [undefined, null, {}, [], Number.NaN, Number.POSITIVE_INFINITY, true, () => 'x']) {
    expect(() => quote(value)).toThrow(TypeError);
  }
  expect(() => quote('a\0b')).toThrow('has a NUL in it');
});
