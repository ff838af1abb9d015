import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parsePattern } from './path-pattern.ts';
import { parseForRe2 } from './re2-pattern.ts';
import { slashFirst } from './slash-first.ts';

const text = (pattern: string) => {
  const parsed = parsePattern(pattern);
  return 'reason' in parsed ? parsed.reason : parsed.parts.map((part) => part.text).join('');
};

describe('a pattern', () => {
  test.each([
    ['/a(b|c)*?x{2,3}', '/a(b|c)*?x{2,3}'],
    ['/a{', '/a\\{'],
    ['/a{,3}', '/a\\{,3\\}'],
    ['/%C3%BCx%2Fy', '/\\xc3\\xbcx/y'],
    ['/(?<name>a)/(?P<other>b)', '/(a)/(b)'],
    ['/\\-\\_\\/', '/-_/'],
    ['/[]a]', '/[]a]'],
    ['/[[:alpha:]_-]', '/[[:alpha:]_-]'],
    ['/\\x41\\x{42}\\t', '/AB\\x09'],
    ['/(?>a)b++', '/(?>a)b++'],
    ['/(a)\\1', '/(a)\\1'],
  ])('%s is written %s', (pattern, written) => {
    expect(text(pattern)).toBe(written);
  });

  test.each([
    ['/a)', 'a ) without its ('],
    ['/(a', 'a ( without its )'],
    ['/[a', 'a class of characters without an end'],
    ['/[z-a]', 'a range of characters in reverse order'],
    ['/[\\d-z]', 'a set of characters at the end of a range'],
    ['/[[:foo:]]', 'a class of characters by a name that is not known'],
    ['/[:alpha:]', 'the name of a class outside of a class'],
    ['/[[.a.]]', 'a class of characters by a name that is not known'],
    ['/a**', '**'],
    ['/a{2}{3}', '{2}{3}'],
    ['/(*)', 'a group (*)… of a kind that is not known here'],
    ['/(|*)', '* with nothing to repeat'],
    ['/a{1001}', '{1001}, more than 1000 repetitions'],
    ['/((a{100}){100})', 'too many repetitions inside each other'],
    ['/a{3,2}', '{3,2}, a range in reverse order'],
    ['/(?#x)', 'a group (?#x… of a kind that is not known here'],
    ['/(?<=a)b', 'a group (?<=… of a kind that is not known here'],
    ['/(?R)', 'a group (?R)… of a kind that is not known here'],
    ['/(?x)a', 'a group (?x)… of a kind that is not known here'],
    ['/\\p{L}', 'the escape \\p'],
    ['/\\Qa\\E', 'the escape \\Q'],
    ['/\\G{2}', 'the escape \\G'],
    ['/(a)\\2', 'the back-reference \\2 to a group that is not there'],
    ['/(a)\\10', 'the back-reference \\10'],
    ['/a\\', 'a \\ at the end'],
    ['/é', 'characters that stand in no request path'],
    [`/${'a'.repeat(1000)}`, 'more than 1000 characters'],
    [`/${'('.repeat(101)}`, 'more than 100 groups inside each other'],
  ])('%s is refused', (pattern, reason) => {
    expect(text(pattern)).toBe(reason);
  });

  test('is read in no time, whatever it is', () => {
    const begin = performance.now();
    for (const part of ['(', '[', '[a-', 'a*', '\\', '(a|', '[[:', '(?!a', '{1,', '(?:a*)*'])
      for (const one of [part.repeat(1000).slice(0, 999), part.repeat(160)]) parseForRe2(`/${one}`);
    expect(performance.now() - begin).toBeLessThan(1000);
  });
});

describe('for RE2', () => {
  test.each([
    ['/a(?=b)', 'a look-ahead (?=…)'],
    ['/a(?!b)c', 'a negative look-ahead (?!…)'],
    ['/a(?!b+)(.*)', 'a negative look-ahead (?!…)'],
    ['/[(?!]a(?!b)(.*)(?!c)', 'a negative look-ahead (?!…)'],
    ['/a++', 'the possessive quantifier ++'],
    ['/(?>a)', 'an atomic group (?>…)'],
    ['/(a)\\1', 'the back-reference \\1'],
    ['/\\h', '\\h'],
    ['/\\bx', 'the word boundary \\b'],
  ])('%s is refused', (pattern, reason) => {
    expect(parseForRe2(pattern)).toEqual({ reason });
  });

  test.each(['/a\\b', '/(?i)a', '/[^/]+', '/(?!a|b(/|$)|c\\.d$)(.*)', '/((?!a).*)$', '/[(?!]x'])(
    '%s is taken',
    (pattern) => {
      expect(parseForRe2(pattern)).toHaveProperty('parts');
    },
  );

  test('a negative look-ahead for words is spelt out', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.'), minLength: 1, maxLength: 3 });
    const alternative = fc
      .tuple(word, fc.constantFrom('', '', '$', '.*', '(/|$)'))
      .map(([one, end]) => one.replaceAll('.', '\\.') + end);
    const path = fc.string({ unit: fc.constantFrom('a', 'b', 'A', '/', '.', 'x'), maxLength: 5 });
    fc.assert(
      fc.property(
        fc.array(alternative, { minLength: 1, maxLength: 4 }),
        fc.constantFrom('(.*)', '.*', '(.*)$'),
        path,
        (words, rest, end) => {
          const pattern = `/(?!${words.join('|')})${rest}`;
          const parsed = parseForRe2(pattern);
          expect(parsed).toHaveProperty('parts');
          const without = 'reason' in parsed ? '' : parsed.parts.map((part) => part.text).join('');
          const groups = (expression: string) =>
            new RegExp(`^(?:${expression})`, 'i').exec(`/${end}`)?.map((group) => group ?? '');
          expect(groups(without), pattern).toEqual(groups(pattern));
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe('a target that begins with a group', () => {
  test.each([
    ['/app(/.*)', 1, { pattern: '/app(/.*)', others: false }],
    ['/app(/.*)?', 1, { pattern: '/app(/.*)', others: true }],
    ['/app(.*)', 1, { pattern: '/app(/.*)', others: true }],
    ['/app(/|$)(.*)', 1, { pattern: '/app(/)(.*)', others: true }],
    ['/app/(x.*)', 1, { others: true }],
    ['/app', 1, { others: true }],
    ['/app([^x]*)', 1, undefined],
    ['/app((/.*))', 2, undefined],
    ['/a|/b(.*)', 1, undefined],
    ['/app(/.*)*', 1, undefined],
  ] as const)('%s, group %i', (pattern, group, result) => {
    expect(slashFirst(pattern, group)).toEqual(result);
  });
});
