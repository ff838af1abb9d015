import { describe, expect, test } from 'vitest';
import { type ComparedAnswer, differencesOf, HEADERS_IGNORED_BY_DEFAULT } from './compare-answer.ts';

const options = {
  ignoredHeaders: new Set<string>(HEADERS_IGNORED_BY_DEFAULT),
  ignoreBody: false,
  origins: ['10.0.0.1', '10.0.0.2:8080'],
} as const;

function answer(more: Partial<ComparedAnswer> = {}): ComparedAnswer {
  return { status: 200, headers: {}, bytes: 2, bodyHash: 'aaaa', ...more };
}

describe('two answers', () => {
  test('that are the same', () => {
    expect(differencesOf(answer(), answer(), options)).toEqual([]);
  });

  test.each([
    ['the status', { status: 404 }, ['status']],
    ['the body', { bodyHash: 'bbbb' }, ['body']],
    ['a header', { headers: { server: ['nginx'] } }, ['server']],
    [
      'everything',
      { status: 301, bytes: 0, bodyHash: '', headers: { location: ['/'] } },
      ['status', 'location', 'body'],
    ],
    ['only the date', { headers: { date: ['today'], 'x-request-id': ['1'], age: ['3'] } }, []],
  ])('%s', (_, other, expected) => {
    expect(differencesOf(answer(), answer(other), options).map(({ what }) => what)).toEqual(expected);
  });

  test('each side is shown, and what is not there', () => {
    const [difference] = differencesOf(answer({ headers: { vary: ['a', 'b'] } }), answer(), options);
    expect(difference).toEqual({ what: 'vary', first: 'a, b', second: '-' });
  });

  test('bodies may be left out', () => {
    expect(differencesOf(answer(), answer({ bodyHash: 'b' }), { ...options, ignoreBody: true })).toEqual([]);
  });

  test('each side may name itself', () => {
    const to = (location: string) => answer({ headers: { location: [location] } });
    expect(differencesOf(to('https://10.0.0.1/a'), to('https://10.0.0.2:8080/a'), options)).toEqual([]);
    expect(differencesOf(to('https://10.0.0.1/a'), to('https://10.0.0.1/a'), options)).toHaveLength(1);
  });

  test.each([
    [['a=1; Path=/'], ['a=2; Path=/'], 0],
    [['a=1; Path=/', 'b=1'], ['b=2', 'a=2; Path=/'], 0],
    [['a=1; Path=/'], ['a=1; Path=/; Secure'], 1],
    [['a=1'], ['b=1'], 1],
  ])('cookies are compared without their values: %s and %s', (first, second, count) => {
    const cookies = (values: string[]) => answer({ headers: { 'set-cookie': values } });
    expect(differencesOf(cookies(first), cookies(second), options)).toHaveLength(count);
  });
});

describe('no answer', () => {
  const refused = { failure: 'connection refused', connected: false };

  test('of one side', () => {
    expect(differencesOf(answer(), refused, options)).toEqual([
      { what: 'answer', first: 'status 200', second: 'connection refused' },
    ]);
  });

  test('of both', () => {
    expect(differencesOf({ failure: 'reset', connected: true }, refused, options)).toEqual([]);
  });
});
