/** What a protected path says, where another Ingress makes every path of its host a regular expression. */
import { expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import type { Route } from '../model/proxy-model.ts';
import { type Change, endpointSlice, ingress, rule, service, World } from './testing.ts';

const generated = await makePair(['ingress.local']);
const host = 'shop.example.com';

function world(...objects: Change[]): World {
  const made = new World(generated);
  made.apply(service('shop/web'), service('shop/api'), endpointSlice('shop/web-1', 'web', ['10.0.0.1']), ...objects);
  return made;
}

let age = 0;
/** Each is younger than the one before. */
function on(name: string, annotations: Readonly<Record<string, string>>, target: string, ...paths: readonly string[]) {
  const written = Object.entries(annotations).map(([key, value]) => [`nginx.ingress.kubernetes.io/${key}`, value]);
  age += 1;
  return ingress(`shop/${name}`, {
    creationTimestamp: age,
    annotations: Object.fromEntries(written),
    rules: [rule(host, Object.fromEntries(paths.map((path) => [path, target])))],
  });
}

const nobody = { 'denylist-source-range': '0.0.0.0/0' };
const regex = on('regex', { 'use-regex': 'true' }, 'web:80', '/zzz');
const secret = (...paths: readonly string[]) => on('secret', nobody, 'api:80', ...paths);
const beside = (...paths: readonly string[]) => on('open', {}, 'web:80', ...paths);

const routesOf = (...objects: Change[]): readonly Route[] =>
  world(...objects).model.virtualHosts.get(host)?.routes ?? [];

/** `/a → web`, without that of `regex`. */
function routes(...objects: Change[]): string[] {
  return routesOf(...objects).flatMap(({ match: { path }, action }) =>
    path === '/zzz' || action.kind !== 'forward' ? [] : [`${path} → ${action.cluster.name.split('/')[1]}`],
  );
}

test.each<[says: string, secret: Change, open: Change, routes: string[]]>([
  ['a prefix with a slash', secret('/a/'), beside('/'), ['/a(?:/|$) → api', '/a/ → api', '/ → web']],
  ['the root alone', secret('Exact /'), beside('/'), ['/+$ → api', '/ → web', '/ → api']],
  ['an exact path', secret('Exact /b/'), beside('/b/'), ['/b/$ → api', '/b/ → api', '/b/ → web']],
  ['what another says in another case', secret('/B'), beside('/b'), ['/B(?:/|$) → api', '/b → web', '/B → api']],
  ['what is encoded', secret('/%61/'), beside('/'), ['/%61/ → api', '/a(?:/|$) → api', '/ → web']],
])('%s', (_, one, open, expected) => {
  expect(routes(open, one, regex)).toEqual(expected);
});

test.each([
  ['an exact path', beside('Exact /a'), '/a/'],
  ['an exact path with the slash', beside('Exact /a/'), '/a(?:/(?s:.)|$)'],
  ['both', beside('Exact /a', 'Exact /a/'), '/a/(?s:.)'],
])('but not what others say in %s', (_, open, said) => {
  expect(routes(open, secret('/a/'), regex)).toContain(`${said} → api`);
});

test.each([
  ['is open', beside('/a/'), beside('/')],
  ['means a regular expression', on('secret', { ...nobody, 'use-regex': 'true' }, 'api:80', '/a/'), beside('/')],
  ['lost to an older one', beside('/b', '/b/x'), secret('/b/')],
  ['stands beside others of other lengths', secret('/a', 'Exact /b'), beside('/', '/abc')],
])('not where it %s', (_, ...objects) => {
  expect(routes(...objects, regex).filter((route) => /[$?]/.test(route))).toEqual([]);
});

test('also before a longer text with the same meaning, which is told', () => {
  const made = world(secret('/a'), beside('/a/'), regex);
  expect(made.routes(host)).not.toContainEqual(expect.stringContaining('/a/'));
  expect(made.complaints()).toContain('PathConflict Ingress shop/open spec.rules[0].http.paths[0]');
});

test.each([
  ['Exact /a/b', '/a/b$'],
  ['/a/b', '/a/b(?:/|$)'],
  ['/v1.0', '/v1\\.0(?:/|$)'],
  ['/v1.0/', '/v1\\.0/'],
  ['/ab', '/ab'],
  ['/a/(b)', '/a/(b)'],
])('beside which %s of others is %s', (path, expected) => {
  expect(routes(secret('/a'), beside(path), regex)).toContain(`${expected} → web`);
});

test('in any case, beside which what another says is no more than that', () => {
  expect(routes(secret('/A'), beside('Exact /a/b'), regex)).toContain('/a/b$ → web');
});

test('beside which paths that other addresses may ask for are what they say', () => {
  const wider = on('wider', { 'denylist-source-range': '10.0.0.0/8' }, 'web:80', 'Exact /a/b');
  expect(routes(secret('/a'), wider, regex)).toContain('/a/b$ → web');
});

test.each([
  ['that another says encoded and exact', secret('/a'), beside('Exact /%61'), ['/a/ → api', '/%61 → web', '/a → api']],
  ['below what another says encoded', secret('/ab/c'), beside('/%61b'), ['/ab/c → api', '/%61b → web']],
])('%s', (_, one, open, expected) => {
  expect(routes(open, one, regex)).toEqual(expected);
});

test('that is encoded, before an expression that is shorter than what is written', () => {
  const wild = on('wild', { 'use-regex': 'true' }, 'web:80', '/.*');
  expect(routes(secret('/%61'), wild)).toEqual(['/%61 → api', '/.* → web']);
});

test('beside which paths that are protected alike take what begins like them', () => {
  const alike = on('alike', nobody, 'web:80', 'Exact /a/b');
  expect(routes(secret('/a'), alike, regex)).toContain('/a/b → web');
});

test('with the rewrite of its Ingress, and its canary', () => {
  const rewritten = on('secret', { ...nobody, 'rewrite-target': '/x$1' }, 'api:80', '/a/');
  const [said] = routesOf(rewritten, beside('/'));
  expect(said).toMatchObject({ match: { path: '/a(?:/|$)' }, policy: { rewrite: { pattern: '/a(?:/|$)' } } });
  const canary = on('canary', { canary: 'true', 'canary-weight': '10' }, 'web:80', '/a/');
  const canaries = routesOf(secret('/a/'), beside('/'), regex, canary).map(({ match, action }) =>
    action.kind === 'forward' && action.canaries ? [match.path] : [],
  );
  expect(canaries.flat()).toEqual(['/a(?:/|$)', '/a/']);
});
