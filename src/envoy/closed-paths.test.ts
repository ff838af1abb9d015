import { describe, expect, test } from 'vitest';
import type { PathMatch } from '../model/proxy-model.ts';
import { closedSpellings } from './closed-paths.ts';
import type { RouteView } from './http-view.ts';

const closed = (match: PathMatch): RouteView => ({ match, action: { kind: 'respond', status: 503, body: '' } });
const open = (path: string): RouteView => ({
  match: { kind: 'prefix', path },
  action: { kind: 'forward', cluster: { name: 'shop/web/80', namespace: 'shop', service: 'web', port: '80' } },
});
const prefix = (path: string): PathMatch => ({ kind: 'prefix', path });

/** The expressions of JavaScript know `(?i:…)` but no leading `(?i)`; the first route is tested through Envoy. */
function answered(path: string, ...matches: PathMatch[]): boolean {
  const [, ...routes] = closedSpellings([...matches.map(closed), open('/')]);
  return routes.some(({ match }) => {
    const header = match?.headers?.[0];
    const target = header && 'string_match' in header ? header.string_match : undefined;
    const expressions = [match, target].map((part) => (part && 'safe_regex' in part ? part.safe_regex?.regex : ''));
    return expressions.every((regex) => new RegExp(`^(?:${regex})$`, 's').test(path));
  });
}

describe('a closed path', () => {
  test.each([
    ['/admin', '/admin%2Fx'],
    ['/admin', '/admin%2fx'],
    ['/admin', '/admin%5cx'],
    ['/a/b', '/a%2Fb'],
    ['/a@b', '/a%40b'],
    ['/a@b', '/a%40b/c'],
    ['/a|b', '/a%7Cb'],
    ['/a.b', '/a.b%2fc'],
    ['/caf%C3%A9', '/caf%c3%a9'],
    ['/a%40b', '/a%40b'],
  ])('%s: %s is closed', (path, request) => {
    expect(answered(request, prefix(path))).toBe(true);
  });

  test.each([
    ['/admin', '/admins%2Fx'],
    ['/admin', '/x%2Fadmin'],
    ['/admin', '/x?/admin%2Fx'],
    ['/a.b', '/axb%2fc'],
    ['/a@b', '/%40a'],
    ['/admin', '/admin/public%20file'],
  ])('%s: %s is left to the other routes', (path, request) => {
    expect(answered(request, prefix(path))).toBe(false);
  });

  test('an exact one has nothing below it', () => {
    const match: PathMatch = { kind: 'exact', path: '/a@b' };
    expect(answered('/a%40b', match)).toBe(true);
    expect(answered('/a%40b/c', match)).toBe(false);
  });

  test('of a very long one the beginning is enough', () => {
    const path = `/${'a@'.repeat(100_000)}`;
    expect(answered(path.replaceAll('@', '%40'), prefix(path))).toBe(true);
    const [, route] = closedSpellings([closed(prefix(path)), open('/')]);
    expect(JSON.stringify(route).length).toBeLessThan(50_000);
  });
});

test('nothing is added where nothing or everything is closed, nor for the root', () => {
  expect(closedSpellings([open('/a'), open('/')])).toEqual([]);
  expect(closedSpellings([closed(prefix('/a')), closed(prefix('/'))])).toEqual([]);
  const toHttps: RouteView = { match: prefix('/'), action: { kind: 'redirect', status: 308 } };
  expect(closedSpellings([closed(prefix('/a')), toHttps])).toEqual([]);
  expect(closedSpellings([open('/a'), closed(prefix('/'))])).toEqual([]);
});
