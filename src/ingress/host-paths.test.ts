import { describe, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import type { BuildOptions } from './build.ts';
import { type Change, endpointSlice, ingress, rule, service, World } from './testing.ts';

const generated = await makePair(['ingress.local']);
const host = 'shop.example.com';

function world(options: Partial<BuildOptions>, ...objects: Change[]): World {
  const made = new World(generated, options);
  made.apply(service('shop/web'), service('shop/api'), endpointSlice('shop/web-1', 'web', ['10.0.0.1']), ...objects);
  return made;
}

let age = 0;
/** Each is younger than the one before. */
function on(name: string, annotations: Readonly<Record<string, string>>, paths: Record<string, string>, at = host) {
  const written = Object.entries(annotations).map(([key, value]) => [`nginx.ingress.kubernetes.io/${key}`, value]);
  age += 1;
  return ingress(`shop/${name}`, {
    creationTimestamp: age,
    annotations: { 'nginx.ingress.kubernetes.io/ssl-redirect': 'false', ...Object.fromEntries(written) },
    rules: [rule(at, paths)],
  });
}

const routes = (...objects: Change[]) => world({}, ...objects).routes(host);

/** Routes in short, with the target of a rewrite. */
function rewrites(...objects: Change[]): string[] {
  return (world({}, ...objects).model.virtualHosts.get(host)?.routes ?? []).map(({ match, policy }) => {
    const target = policy.rewrite?.target.map((part) =>
      typeof part === 'string' ? part : 'capture' in part ? `$${part.capture}` : part.variable,
    );
    return `${match.kind} ${match.path}${target === undefined ? '' : ` → ${target.join('')}`}`;
  });
}

describe('a host with use-regex or rewrite-target', () => {
  test('has every path as a regular expression, longer ones first, then in reverse order', () => {
    const made = routes(
      on('a', { 'use-regex': 'true' }, { '/a': 'web:80', '/b(c|d)': 'web:80', '/z': 'web:80' }),
      on('b', {}, { 'Exact /longest': 'web:80', 'Prefix /x/': 'web:80', '/': 'api:80' }),
    );
    expect(made).toEqual([
      'regex /longest → shop/web/80',
      'regex /b(c|d) → shop/web/80',
      'regex /x/ → shop/web/80',
      'regex /z → shop/web/80',
      'regex /a → shop/web/80',
      'prefix / → shop/api/80',
    ]);
  });

  test.each([
    [{ 'use-regex': 'false' }, { '/a': 'web:80' }],
    [{ 'use-regex': 'yes' }, { '/a': 'web:80' }],
    [{ 'rewrite-target': '/' }, { '/': 'web:80' }],
    [{ 'rewrite-target': '/a b' }, { '/a': 'web:80' }],
    [{ 'rewrite-target': '/$nothing' }, { '/a': 'web:80' }],
  ])('but not with %j for %j', (annotations, paths) => {
    const [first = ''] = routes(on('a', annotations, paths));
    expect(first).not.toMatch(/^regex/);
  });

  test('only where an Ingress with it has a path', () => {
    const made = world(
      {},
      on('a', { 'use-regex': 'true' }, { '/a': 'web:80' }, 'other.example.com'),
      on('b', {}, { '/a': 'web:80' }),
    );
    expect(made.routes(host)[0]).toBe('prefix /a → shop/web/80');
    expect(made.routes('other.example.com')[0]).toBe('regex /a → shop/web/80');
  });

  test('tells the Ingresses that it reaches, once each', () => {
    const made = world(
      {},
      on('a', { 'rewrite-target': '/$1' }, { '/a(/.*)': 'web:80' }),
      on('b', {}, { '/b': 'web:80', 'Exact /c': 'web:80' }),
      on('root', {}, { '/': 'web:80' }),
    );
    expect(made.complaints()).toEqual(['RegexModeInherited Ingress shop/b spec.rules']);
    expect(made.diagnostics()[0]?.message).toMatch(/^Ingress shop\/a has use-regex or rewrite-target/);
  });

  test('serves paths of one text apart by their type, and of one type the older', () => {
    const made = world(
      {},
      on('a', { 'use-regex': 'true' }, { '/a/': 'web:80', '/a': 'web:80' }),
      on('b', {}, { '/a': 'api:80' }),
    );
    expect(made.routes(host).slice(0, 2)).toEqual(['regex /a/ → shop/web/80', 'regex /a → shop/web/80']);
    expect(made.complaints()).toContain('PathConflict Ingress shop/b spec.rules[0].http.paths[0]');
  });

  test('leaves a plain prefix what is below it where an exact path of the same text is there', () => {
    const made = routes(
      on('a', { 'use-regex': 'true' }, { '/x': 'web:80' }),
      on('b', {}, { 'Prefix /a': 'web:80', 'Exact /a': 'api:80' }),
    );
    expect(made.slice(1, 3).toSorted()).toEqual(['regex /a → shop/api/80', 'regex /a/ → shop/web/80']);
  });
});

describe('rewrite-target', () => {
  test('counts for the paths of its Ingress', () => {
    expect(
      rewrites(on('a', { 'rewrite-target': '/$2' }, { '/a(/|$)(.*)': 'web:80' }), on('b', {}, { '/b': 'web:80' })),
    ).toEqual(['regex /a(/|$)(.*) → /$2', 'regex /b', 'prefix / → /$2']);
  });

  test('that equals a prefix counts below it', () => {
    expect(rewrites(on('a', { 'rewrite-target': '/a' }, { '/a': 'web:80', '/': 'web:80' }))).toEqual([
      'regex /a/ → /a',
      'regex /a',
      'prefix / → /a',
    ]);
  });

  test('that is a URL comes before the redirect to https', () => {
    const { model } = world(
      {},
      on('a', { 'rewrite-target': 'https://new.example.com/$1', 'force-ssl-redirect': 'true' }, { '/(.*)': 'web:80' }),
    );
    expect(model.virtualHosts.get(host)?.routes[0]?.policy).toMatchObject({ rewrite: { redirects: true } });
    expect(model.virtualHosts.get(host)?.routes[0]?.policy).not.toHaveProperty('httpsRedirect');
  });

  test.each(['/$host/$1', 'https://$1.example.com/', 'https://a.example.com$request_uri'])(
    'of %s is nothing for Envoy',
    (target) => {
      const one = on('a', { 'rewrite-target': target }, { '/(.*)': 'web:80' });
      const made = world({}, one);
      expect(made.routes(host)[0]).toBe('regex /(.*) → 503');
      expect(made.complaints()[0]).toMatch(/^AnnotationDenied Ingress shop\/a metadata.annotations.*rewrite-target/);
      expect(world({ proxy: 'nginx' }, one).complaints()).toEqual([]);
    },
  );
});

describe('what Envoy cannot follow', () => {
  test.each([
    ['/api/(?=v1)(.*)', '/api/', 'a look-ahead'],
    ['/api/a++', '/api/a', 'possessive'],
    ['/(a)\\1', '/', 'back-reference'],
    ['/a|/b(?!c)d', '/', 'negative look-ahead'],
  ])('%s closes what begins like it, and nginx follows', (path, beginning, construct) => {
    const one = on('a', { 'use-regex': 'true' }, { [path]: 'web:80', '/': 'web:80' });
    const made = world({}, one);
    expect(made.routes(host)[0]).toBe(`${beginning === '/' ? 'prefix' : 'regex'} ${beginning} → 503`);
    expect(made.complaints()).toEqual(['PathPatternUnsupported Ingress shop/a spec.rules[0].http.paths[0].path']);
    expect(made.diagnostics()[0]?.message).toContain(construct);
    expect(world({ proxy: 'nginx' }, one).complaints()).toEqual([]);
  });

  test.each(['/a(', '/a)', '/[a', '/a**', '/(?<=a)b', '/\\p{L}'])('%s is closed with either proxy', (path) => {
    const one = on('a', { 'use-regex': 'true' }, { [path]: 'web:80' });
    for (const proxy of ['envoy', 'nginx'] as const)
      expect(world({ proxy }, one).complaints()).toEqual([
        'PathPatternUnsupported Ingress shop/a spec.rules[0].http.paths[0].path',
      ]);
  });

  test('a target that begins with a group of which nobody knows how it begins', () => {
    const made = world(
      {},
      on('a', { 'rewrite-target': '/$1' }, { '/x/([^/]+)y': 'web:80' }),
      on('b', { 'rewrite-target': '$1' }, { '/y/([^x]+)y': 'web:80' }),
    );
    expect(made.complaints()).toEqual(['PathPatternUnsupported Ingress shop/b spec.rules[0].http.paths[0].path']);
  });
});

test('a path that looks like a regular expression stands for itself elsewhere', () => {
  const made = world({}, on('a', {}, { '/a(b|c)': 'web:80', '/a?': 'web:80' }));
  expect(made.routes(host)).toEqual(['prefix /a(b%7Cc) → shop/web/80', 'prefix / → 404']);
  expect(made.complaints()).toEqual([
    'IngressPathInvalid Ingress shop/a spec.rules[0].http.paths[1].path',
    'PathTakenLiterally Ingress shop/a spec.rules[0].http.paths[0].path',
  ]);
  expect(
    made
      .diagnostics()
      .map(({ message }) => message)
      .join(),
  ).toMatch(/set use-regex/);
});

describe('a path that cannot be served as it is written', () => {
  const nobody = { 'denylist-source-range': '0.0.0.0/0' };
  const open = () => on('open', {}, { '/': 'web:80' });

  test('is closed where it is to be protected, with what it may have been meant for', () => {
    const routesOf = routes(on('a', nobody, { '/a//b': 'web:80', '/x?y': 'web:80' }), open());
    expect(routesOf.filter((route) => route.endsWith('503'))).toEqual([
      'prefix /x%3Fy → 503',
      'prefix /a/b → 503',
      'prefix /x → 503',
    ]);
  });

  test('leaves its requests to wider paths where it is open', () => {
    expect(routes(on('a', {}, { '/a//b': 'web:80' }), open())).toEqual(['prefix / → shop/web/80']);
  });

  test('takes nothing that its own Ingress serves, and nothing of an older one', () => {
    const older = on('older', {}, { '/c/d': 'web:80' });
    const routesOf = routes(older, on('a', nobody, { '/a//b': 'web:80', '/a/b': 'web:80', '/c//d': 'web:80' }), open());
    expect(routesOf).not.toContainEqual(expect.stringContaining('503'));
  });

  test('closes the same where every path is a regular expression', () => {
    const regex = on('regex', { 'use-regex': 'true' }, { '/': 'web:80' });
    expect(routes(on('a', nobody, { '/a//b.c': 'web:80', 'd.e': 'web:80' }), regex)).toEqual(
      expect.arrayContaining(['regex /a/b\\.c(?:/|$) → 503', 'regex /d\\.e(?:/|$) → 503']),
    );
  });

  describe('where another Ingress makes every path a regular expression', () => {
    const neighbours = [
      on('regex', { 'use-regex': 'true' }, { '/zzz': 'web:80' }),
      on('rewrite', { 'rewrite-target': '/$1' }, { '/zzz/(.*)': 'web:80' }),
    ];

    test.each([
      ['/p/./z', ['regex /p/z(?:/|$) → 503']],
      ['/q?x', ['regex /q%3Fx(?:/|$) → 503', 'regex /q(?:/|$) → 503']],
      ['/ab/../cd', ['regex /cd(?:/|$) → 503']],
      ['/admin%20(old)/x+y', ['regex /admin%20\\(old\\)/x\\+y(?:/|$) → 503']],
      ['Exact /a$', ['regex /a\\$$ → 503']],
      ['Exact /..', ['regex /+$ → 503']],
      ['/%00', []],
      ['/v1.0/é', []],
    ])('%s closes what it says', (path, closed) => {
      for (const neighbour of neighbours) {
        const made = world({}, on('a', nobody, { [path]: 'web:80' }), open(), neighbour);
        expect(made.routes(host).filter((route) => route.endsWith('503'))).toEqual(closed);
        const told = made
          .diagnostics()
          .filter(({ code, severity }) => code === 'RegexModeInherited' && severity === 'error');
        expect(told).toHaveLength(closed.length > 0 ? 1 : 0);
      }
    });

    test.each([
      ['that is open', on('a', {}, { '/q?x': 'web:80' })],
      ['whose Ingress means a regular expression', on('a', { ...nobody, 'use-regex': 'true' }, { '/q?x': 'web:80' })],
    ])('a path %s closes nothing', (_, one) => {
      expect(routes(one, ...neighbours)).not.toContainEqual(expect.stringContaining('503'));
    });

    test('comes before wider expressions that the path comes before, and not before longer paths', () => {
      const wide = on('wide', { 'use-regex': 'true' }, { '/(.*)': 'web:80', '/cd/x': 'web:80' });
      expect(routes(on('a', nobody, { '/ab/../cd': 'web:80' }), wide).slice(1)).toEqual([
        'regex /cd/x → shop/web/80',
        'regex /cd(?:/|$) → 503',
        'regex /(.*) → shop/web/80',
        'prefix / → 404',
      ]);
    });

    test('takes nothing that its own Ingress serves, and nothing of an older one', () => {
      const older = on('older', {}, { '/c/d': 'web:80' });
      const one = on('a', nobody, { '/a/../b': 'web:80', '/b': 'web:80', '/c/./d': 'web:80' });
      expect(routes(older, one, ...neighbours)).not.toContainEqual(expect.stringContaining('503'));
    });
  });

  test('is told, with what is closed', () => {
    const made = world({}, on('a', nobody, { '/a//b': 'web:80' }));
    expect(made.diagnostics().map(({ message }) => message)).toContainEqual(
      expect.stringContaining('denylist-source-range was to protect it, /a/b with all below it answers 503'),
    );
  });
});
