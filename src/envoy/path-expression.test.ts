import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, test } from 'vitest';
import { parseForRe2 } from '../model/re2-pattern.ts';
import { pathExpression } from './path-expression.ts';

const matches = (pattern: string, path: string) => RE2JS.matches(pathExpression(pattern).match, path);

describe('an expression for a path', () => {
  test.each([
    ['/something(/|$)(.*)', '(?i)/something((?:/|%(?:2f|5c))|$)(.*)'],
    ['/', '(?i)/.*'],
    ['/a.c', '(?i)/a(?:[^%]|%..)c.*'],
    ['/a\\.c', '(?i)/a\\.c.*'],
    ['/[a-z0-9]+', '(?i)/[0-9a-z]+.*'],
    ['/x@y', '(?i)/x(?:@|%40)y.*'],
    ['/b%C3%BCcher', '(?i)/b%c3%bccher.*'],
    ['/(?<name>a)/(?i)b', '(?i)/(a)(?:/|%(?:2f|5c))(?i)b.*'],
    ['/a|/b', '(?i)(?:/a|(?:[^%]|%..)*?(?:(?:/|%(?:2f|5c))b)).*'],
  ])('%s is %s', (pattern, expression) => {
    expect(pathExpression(pattern).match).toBe(expression);
  });

  test.each([
    ['/a/b', '/a%2Fb'],
    ['/a/b', '/A%2fB/c'],
    ['/a/b', '/a%5Cb'],
    ['/a[^/]c', '/a%20c'],
    ['/a[^/]c', '/a%c3c'],
    ['/a\\Wb', '/a%3Ab'],
    ['/a[[:punct:]]b', '/a%40b'],
    ['/(x|(.*))y', '/%20y'],
    ['/a[!-~]b', '/a%7Cb'],
    ['/a$|/b$', '/x/b'],
  ])('%s matches %s', (pattern, path) => {
    expect(matches(pattern, path)).toBe(true);
  });

  test.each([
    ['/a[^/]c', '/a%2fc'],
    ['/a[^/]c', '/a%5cc'],
    ['/a..c', '/a%20c'],
    ['/a\\db', '/a%30b'],
    ['/a(.*)\\d$', '/a%20'],
    ['/a[^x]b', '/aXb'],
    ['/a', '/b/a'],
    ['/a$|/b$', '/x/a'],
    ['/a|b', '/%7b'],
  ])('%s does not match %s', (pattern, path) => {
    expect(matches(pattern, path)).toBe(false);
  });
});

const atom = fc.constantFrom('a', 'B', '/', '.', '\\.', '\\d', '\\W', '[a-c]', '[^/b]', '@', '%20', '{', '-');
const quantifier = fc.constantFrom('', '', '', '*', '+', '?', '*?', '{1,2}', '{2}', '++');
const piece = fc.oneof(
  fc.tuple(atom, quantifier).map(([one, many]) => one + many),
  fc.constantFrom(
    '(a|/b)?',
    '(.*)',
    '(/|$)(.*)',
    '(?:x|y)',
    '|',
    '(',
    ')',
    '[',
    '^',
    '$',
    '\\b',
    '\\1',
    '(?=a)',
    '(?!a)(.*)',
    '*',
  ),
);
const pattern = fc.array(piece, { maxLength: 6 }).map((pieces) => `/${pieces.join('')}`);

test('whatever is taken compiles as RE2 and matches, on encoded paths, what PCRE matches on decoded ones', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', 'B', 'x', '/', '1', '.', '@', ' ', '{', '-'),
    maxLength: 6,
  });
  fc.assert(
    fc.property(pattern, text, (path, rest) => {
      const parsed = parseForRe2(path);
      if ('reason' in parsed) return;
      const { match, rewrite } = pathExpression(path);
      const encoded = `/${encodeURIComponent(rest).replaceAll('%2F', '/')}`;
      // PCRE and JavaScript agree on these constructs.
      const likePcre = new RegExp(`^${path.replaceAll('%20', ' ')}`, 'is');
      expect(RE2JS.matches(match, encoded), `${path} on ${encoded}`).toBe(likePcre.test(`/${rest}`));
      RE2JS.compile(rewrite);
    }),
    { numRuns: 2000 },
  );
});
