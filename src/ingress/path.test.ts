import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareMatches, looksLikePattern, parsePath } from './path.ts';

describe('paths of rules', () => {
  test.each([
    [undefined, undefined, 'prefix', '/'],
    ['', 'Prefix', 'prefix', '/'],
    ['/', 'Prefix', 'prefix', '/'],
    ['/foo', 'Prefix', 'prefix', '/foo'],
    ['/foo/', 'Prefix', 'prefix', '/foo'],
    ['/foo', 'ImplementationSpecific', 'prefix', '/foo'],
    ['/foo', undefined, 'prefix', '/foo'],
    ['/foo', 'Exact', 'exact', '/foo'],
    ['/foo/', 'Exact', 'exact', '/foo/'],
    ['/Foo%20bar/~x;y=(1)', 'Exact', 'exact', '/Foo%20bar/~x;y=(1)'],
    ['/.well-known/acme-challenge/', 'Prefix', 'prefix', '/.well-known/acme-challenge'],
    ['/...', 'Prefix', 'prefix', '/...'],
  ])('%j of type %j', (path, type, kind, served) => {
    expect(parsePath(path, type)).toMatchObject({ type: kind, literal: { match: { kind, path: served } } });
  });

  test.each([
    ['foo', 'Prefix'],
    ['/foo\n', 'Exact'],
    ['/foo\u0000', 'Exact'],
    ['/foo', 'Regex'],
  ])('%j of type %j is refused', (path, type) => {
    expect(parsePath(path, type)).toHaveProperty('reason');
  });

  test.each([
    ['/foo bar', '/foo%20bar'],
    ['/bücher', '/b%C3%BCcher'],
    ['/b%c3%bcher', '/b%C3%BCher'],
    ['/%61dmin%40', '/admin@'],
    ['/a|b', '/a%7Cb'],
    ['/100%', '/100%25'],
    ['/%2G', '/%252G'],
  ])('%s is served as %s, which nginx takes for the same', (path, served) => {
    expect(parsePath(path, 'Exact')).toMatchObject({ path, literal: { match: { path: served } } });
  });

  test.each([
    ['/a//b', ['/a/b']],
    ['/a%2fb', ['/a/b']],
    ['/a/%2e%2e/b/', ['/b']],
    ['/../b/.', ['/b']],
    ['//', ['/']],
    ['/a?b', ['/a%3Fb', '/a']],
    ['/a/#b', ['/a/%23b', '/a']],
    ['/a\\b', ['/a%5Cb', '/a/b']],
    ['/a%00', []],
    ['a/b', ['/a/b']],
    ['/a\n', ['/a%0A']],
  ])('%j may be meant for %j', (path, meant) => {
    const parsed = parsePath(path, 'Prefix');
    const unserved = 'literal' in parsed ? parsed.literal : parsed;
    expect(unserved).toMatchObject({ meant: meant.map((one) => ({ kind: 'prefix', path: one })) });
  });

  test('an exact path is meant for itself alone', () => {
    expect(parsePath('/a//b/', 'Exact')).toMatchObject({ literal: { meant: [{ kind: 'exact', path: '/a/b/' }] } });
  });

  test.each([
    ['/foo?x=1', 'Prefix'],
    ['/foo#x', 'Exact'],
    ['/foo\\bar', 'Prefix'],
    ['/foo//bar', 'Prefix'],
    ['//', 'Prefix'],
    ['/foo/../bar', 'Exact'],
    ['/foo/.', 'Prefix'],
    ['/foo%2Fbar', 'Exact'],
  ])('%j of type %j can only be a regular expression', (path, type) => {
    expect(parsePath(path, type)).toMatchObject({ path, literal: { reason: expect.any(String) } });
  });

  test.each(['/a(b|c)', '/[a-z]', '/a.*', '/(.*)', '/a\\d', '/a$', '/x{2}'])(
    '%s looks like a regular expression',
    (path) => {
      expect(looksLikePattern(path)).toBe(true);
    },
  );

  test.each(['/', '/a.b', '/$metadata', '/c++', '/~x;y=(1', '/a-b_c'])('%s does not', (path) => {
    expect(looksLikePattern(path)).toBe(false);
  });

  test('a prefix never ends in a slash but for the root', () => {
    fc.assert(
      fc.property(fc.webPath(), (path) => {
        const parsed = parsePath(path, 'Prefix');
        if ('literal' in parsed && 'match' in parsed.literal) expect(parsed.literal.match.path).toMatch(/^\/$|[^/]$/);
      }),
    );
  });

  test('exact paths come first, then the longest prefix', () => {
    const sorted = [
      { kind: 'exact', path: '/' },
      { kind: 'exact', path: '/a/b' },
      { kind: 'prefix', path: '/a/b' },
      { kind: 'prefix', path: '/x' },
      { kind: 'prefix', path: '/' },
    ] as const;
    expect(sorted.toReversed().toSorted(compareMatches)).toEqual(sorted);
  });
});
