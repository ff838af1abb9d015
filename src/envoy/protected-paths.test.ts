import { describe, expect, test } from 'vitest';
import type { PathMatch, RoutePolicy } from '../model/proxy-model.ts';
import type { RouteView } from './http-view.ts';
import { otherSpellings } from './protected-paths.ts';
import { routeMessage } from './route.ts';

const closed = (match: PathMatch): RouteView => ({ match, action: { kind: 'respond', status: 503, body: '' } });
const forward = (path: string, policy: RoutePolicy = {}): RouteView => ({
  match: { kind: 'prefix', path },
  action: { kind: 'forward', cluster: { name: 'shop/web/80', namespace: 'shop', service: 'web', port: '80' } },
  policy,
});
const open = (path: string) => forward(path);
const limited = (path: string, network = '10.0.0.0/8') => forward(path, { addresses: { allow: [network], deny: [] } });
const prefix = (path: string): PathMatch => ({ kind: 'prefix', path });

function spellings(...routes: readonly RouteView[]) {
  return otherSpellings(routes, (of) => routes.slice(of, of + 1).map(routeMessage));
}

/** The expressions of JavaScript know `(?i:…)` but no leading `(?i)`; the first route is tested through Envoy. */
function answered(path: string, ...matches: PathMatch[]): boolean {
  const [, ...routes] = spellings(...matches.map(closed), open('/'));
  return routes.some(({ message: { match } }) => {
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
    const [, route] = spellings(closed(prefix(path)), open('/'));
    expect(JSON.stringify(route).length).toBeLessThan(50_000);
  });
});

test('every spelling of a protected path, and of a path below it, has what the path has', () => {
  const routes = [open('/admin/public'), limited('/admin'), open('/administration'), open('/')];
  const [ambiguous, ...others] = spellings(...routes);
  expect(ambiguous?.message.direct_response?.status).toBe(400);
  expect(others.map(({ of }) => of)).toEqual([0, 1]);
  expect(others.map(({ message }) => message.route)).toEqual(
    routes.slice(0, 2).map((route) => routeMessage(route).route),
  );
});

test('an exact path protects no path below it', () => {
  const exact: RouteView = { ...limited('/admin'), match: { kind: 'exact', path: '/admin' } };
  expect(spellings(exact, open('/admin'), open('/')).map(({ of }) => of)).toEqual([undefined, 0]);
});

test('of the root, which catches every other spelling, only what can be read in two ways is refused', () => {
  expect(spellings(open('/a'), limited('/'))).toHaveLength(1);
  expect(spellings(open('/a'), closed(prefix('/')))).toHaveLength(1);
});

test('paths that are protected in different ways are told apart', () => {
  expect(spellings(limited('/a'), limited('/b', '192.0.2.0/24')).map(({ of }) => of)).toEqual([undefined, 0, 1]);
});

test('nothing is added where no backend is protected less than another', () => {
  expect(spellings(open('/a'), open('/'))).toEqual([]);
  expect(spellings(limited('/a'), limited('/'))).toEqual([]);
  expect(spellings(closed(prefix('/a')), closed(prefix('/')))).toEqual([]);
  const toHttps: RouteView = { match: prefix('/'), action: { kind: 'https-redirect', status: 308 } };
  expect(spellings(closed(prefix('/a')), toHttps)).toEqual([]);
});
