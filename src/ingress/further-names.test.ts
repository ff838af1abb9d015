import { beforeEach, describe, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import { ingress, remove, rule, service, tlsSecret, World } from './testing.ts';

const PREFIX = 'nginx.ingress.kubernetes.io';

function shop(name: string, host: string, annotations: Readonly<Record<string, string>>, more: object = {}) {
  const prefixed = Object.entries(annotations).map(([key, value]) => [`${PREFIX}/${key}`, value]);
  return ingress(`shop/${name}`, {
    annotations: Object.fromEntries(prefixed),
    rules: [rule(host, { '/': `${name}:80` })],
    ...more,
  });
}

let world: World;

const conflicts = () => world.diagnostics().flatMap(({ code, message }) => (code === 'AliasConflict' ? [message] : []));

beforeEach(async () => {
  world = new World(await makePair(['ingress.local']));
  world.apply(service('shop/web'), service('shop/api'));
});

describe('an alias', () => {
  test('has the routes of its host, and follows them', () => {
    world.apply(shop('web', 'a.example.com', { 'server-alias': 'b.example.com' }));
    expect(world.routes('b.example.com')).toEqual(['prefix / → shop/web/80']);
    world.apply(ingress('shop/more', { rules: [rule('a.example.com', { '/more': 'api:80' })] }));
    expect(world.routes('b.example.com')).toEqual(['prefix /more → shop/api/80', 'prefix / → shop/web/80']);
    world.apply(shop('web', 'a.example.com', {}));
    expect(world.routes('b.example.com')).toEqual([]);
  });

  test('gives way to the host of an Ingress, and comes back', () => {
    world.apply(shop('web', 'a.example.com', { 'server-alias': 'b.example.com' }));
    const api = shop('api', 'b.example.com', {});
    world.apply(api);
    expect(world.routes('b.example.com')).toEqual(['prefix / → shop/api/80']);
    expect(world.complaints()).toContain('AliasConflict Ingress shop/web metadata.annotations');
    world.apply({ remove: { kind: 'Ingress', namespace: 'shop', name: 'api' } });
    expect(world.routes('b.example.com')).toEqual(['prefix / → shop/web/80']);
    expect(world.complaints().filter((text) => text.startsWith('Alias'))).toEqual([]);
  });

  test.each(['a.example.com', '*.example.org'])('of two Ingresses belongs to the older, not to that of %s', (host) => {
    const alias = { 'server-alias': 'c.example.com' };
    const old = shop('api', 'b.example.com', alias, { creationTimestamp: 1 });
    world.apply(shop('web', host, alias, { creationTimestamp: 9 }));
    expect(world.routes('c.example.com')).toContain('prefix / → shop/web/80');
    world.apply(old);
    expect(world.routes('c.example.com')).toEqual(['prefix / → shop/api/80']);
    expect(conflicts()).toEqual([
      `alias c.example.com of host ${host} is an alias of b.example.com already (Ingress shop/api); requests to it go there`,
    ]);
    world.apply(remove(old));
    expect(world.routes('c.example.com')).toContain('prefix / → shop/web/80');
  });

  test('counts where its Ingress is the first of the host that names any, which the others are told', () => {
    const alias = (name: string) => ({ 'server-alias': `both.example.com,${name}.example.com` });
    const first = shop('web', 'a.example.com', alias('b'), { creationTimestamp: 1 });
    world.apply(first, shop('api', 'a.example.com', alias('c'), { creationTimestamp: 9 }));
    expect(world.routes('b.example.com')).toEqual(['prefix / → shop/web/80']);
    expect(world.routes('both.example.com')).toEqual(['prefix / → shop/web/80']);
    expect(world.routes('c.example.com')).toEqual([]);
    expect(conflicts()).toEqual([
      'c.example.com is left out, since Ingress shop/web names the aliases of host a.example.com',
    ]);
    world.apply(remove(first));
    expect(world.routes('c.example.com')).toEqual(['prefix / → shop/api/80']);
    expect(conflicts()).toEqual([]);
  });

  test('of two Ingresses of one age belongs to that whose name sorts last, as paths do', () => {
    const alias = { 'server-alias': 'c.example.com' };
    world.apply(shop('web', 'b.example.com', alias), shop('api', 'a.example.com', alias));
    expect(world.routes('c.example.com')).toEqual(['prefix / → shop/web/80']);
  });

  test('is named by the first Ingress of the host that names any', () => {
    world.apply(
      shop('web', 'a.example.com', {}),
      shop('api', 'a.example.com', { 'server-alias': 'b.example.com' }, { creationTimestamp: 1 }),
      shop('late', 'a.example.com', { 'server-alias': 'c.example.com' }, { creationTimestamp: 2 }),
    );
    expect(world.routes('b.example.com')).toEqual(['prefix / → shop/web/80']);
    expect(world.routes('c.example.com')).toEqual([]);
  });

  test('takes no name to which an older Ingress redirects', () => {
    world.apply(
      shop('web', 'example.com', { 'from-to-www-redirect': 'true' }, { creationTimestamp: 1 }),
      shop('api', 'api.example.com', { 'server-alias': 'www.example.com' }, { creationTimestamp: 2 }),
    );
    expect(world.routes('www.example.com')).toEqual(['prefix / → 308']);
    expect(conflicts()).toEqual([
      'alias www.example.com of host api.example.com is redirected to example.com already (Ingress shop/web); requests to it go there',
    ]);
  });

  test('counts before a redirect of the same Ingress', () => {
    world.apply(shop('web', 'example.com', { 'from-to-www-redirect': 'true', 'server-alias': 'www.example.com' }));
    expect(world.routes('www.example.com')).toEqual(['prefix / → shop/web/80']);
  });

  test('counts before a younger redirect, and makes no other host move', () => {
    world.apply(
      shop('web', 'example.com', { 'from-to-www-redirect': 'true' }, { creationTimestamp: 1 }),
      shop('api', 'api.example.com', { 'server-alias': 'www.example.com' }),
    );
    expect(world.routes('www.example.com')).toEqual(['prefix / → shop/api/80']);
    const runs = world.runsOf(() =>
      world.apply(shop('api', 'api.example.com', { 'server-alias': 'www2.example.com' })),
    );
    expect(runs['virtual-host']).toBeLessThanOrEqual(3);
    expect(world.routes('www.example.com')).toEqual(['prefix / → 308']);
  });

  test('has the certificate of its host only if that covers it', async () => {
    world.apply(
      shop(
        'web',
        'a.example.com',
        { 'server-alias': 'b.example.com,c.example.com' },
        {
          tls: [{ hosts: ['a.example.com'], secretName: 'web' }],
        },
      ),
      tlsSecret('shop/web', await makePair(['a.example.com', 'b.example.com'])),
    );
    expect(world.build.hostTls.get('b.example.com')).toMatchObject({ tls: true, certificate: 'shop/web' });
    expect(world.build.hostTls.get('c.example.com')).toEqual({ tls: true, namespaces: ['shop'], diagnostics: [] });
    expect(world.routes('c.example.com')).toEqual(['prefix / → shop/web/80 (https)']);
  });

  test('stands with its host: its routes are there once', () => {
    world.apply(shop('web', 'a.example.com', { 'server-alias': 'c.example.com,b.example.com,*.b.example.org' }));
    const named = () =>
      [...world.model.virtualHosts.keys()].map((name) => [name, world.model.virtualHosts.get(name)?.aliases]);
    expect(named()).toEqual([
      ['*', undefined],
      ['a.example.com', ['b.example.com', 'c.example.com']],
      ['*.b.example.org', undefined],
    ]);
    world.apply(shop('web', 'a.example.com', { 'server-alias': 'c.example.com' }));
    expect(named()).toEqual([
      ['*', undefined],
      ['a.example.com', ['c.example.com']],
    ]);
  });

  test.each(['*.example.com', ''])(
    'of the host "%s" stands with the first alias, which has no guard against other names',
    (host) => {
      world.apply(shop('web', host, { 'server-alias': 'c.example.org,b.example.org' }));
      const { virtualHosts } = world.model;
      expect(virtualHosts.get('b.example.org')?.aliases).toEqual(['c.example.org']);
      expect(virtualHosts.get('c.example.org')).toBeUndefined();
      expect(virtualHosts.get(host || '*')?.aliases).toBeUndefined();
      expect(world.routes('c.example.org')).toContain('prefix / → shop/web/80');
    },
  );

  test('is named by a redirect to a path', () => {
    world.apply(shop('web', 'a.example.com', { 'server-alias': 'b.example.com', 'permanent-redirect': '/new' }));
    const [route] = world.model.virtualHosts.get('a.example.com')?.routes ?? [];
    expect(route?.action).toMatchObject({ location: expect.arrayContaining([{ variable: 'host' }, '/new']) });
  });

  test('may have a wildcard 20 times', () => {
    const aliases = Array.from({ length: 21 }, (_, index) => `*.w${index}.example.com`);
    world.apply(shop('web', 'a.example.com', { 'server-alias': aliases.join(',') }));
    expect(world.routes('*.w19.example.com')).toEqual(['prefix / → shop/web/80']);
    expect(world.routes('*.w20.example.com')).toEqual([]);
    expect(world.diagnostics().map(({ message }) => message)).toContain(
      '"*.w20.example.com" is one of more than 20 aliases with a wildcard; it is left out',
    );
  });

  test('asks for no more work the more Ingresses there are', () => {
    const count = (hosts: number) => {
      const some = Array.from({ length: hosts }, (_, index) =>
        shop(`i${index}`, `h${index}.example.com`, { 'server-alias': `a${index}.example.com` }),
      );
      world.apply(...some);
      return world.runsOf(() => world.apply(shop('i0', 'h0.example.com', { 'server-alias': 'new.example.com' })));
    };
    expect(count(10)).toEqual(count(200));
  });
});

describe('a redirect from and to www', () => {
  test('is there for an exact host alone', () => {
    world.apply(
      shop('web', '*.example.com', { 'from-to-www-redirect': 'true' }),
      ingress('shop/any', {
        annotations: { [`${PREFIX}/from-to-www-redirect`]: 'true' },
        rules: [rule(undefined, { '/': 'api:80' })],
      }),
    );
    expect([...world.model.virtualHosts.keys()].toSorted()).toEqual(['*', '*.example.com']);
  });

  test('gives way to the host of an Ingress', () => {
    world.apply(
      shop('web', 'example.com', { 'from-to-www-redirect': 'true' }),
      shop('api', 'www.example.com', { 'from-to-www-redirect': 'true' }),
    );
    expect(world.routes('www.example.com')).toEqual(['prefix / → shop/api/80']);
    expect(world.routes('example.com')).toEqual(['prefix / → shop/web/80']);
    world.apply({ remove: { kind: 'Ingress', namespace: 'shop', name: 'web' } });
    expect(world.routes('example.com')).toEqual(['prefix / → 308']);
  });
});
