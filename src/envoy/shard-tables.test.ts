import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { Engine } from '../derive.ts';
import { decode, setStrict } from './codec.ts';
import { createEmitter } from './emit.ts';
import { hostKey, KEYS } from './parity-hash.ts';
import { type EncodedResource, typeUrls } from './resource.ts';
import { createTestModel, forward, host } from './testing.ts';
import { createEncoder } from './wire-encoder.ts';

beforeAll(() => setStrict(true));

function setUp() {
  const engine = new Engine();
  const model = createTestModel(engine);
  const emitter = createEmitter(engine, model, { ipv6: true, routeSharding: true }, createEncoder());
  model.virtualHosts.set('*', host('*', forward('/', 'default')));
  const all = (type: 'routes' | 'scopedRoutes') => {
    const resources = new Map<string, EncodedResource>();
    for (const { typeUrl, table } of emitter.resources) {
      if (typeUrl !== typeUrls[type]) continue;
      for (const name of table.keys()) resources.set(name, table.get(name)!);
    }
    return resources;
  };
  /** Key of a request → name of its table. */
  const scopes = () =>
    new Map(
      [...all('scopedRoutes').values()].map((resource) => {
        const scope = decode('envoy.config.route.v3.ScopedRouteConfiguration', resource.bytes());
        expect(resource.routes).toBe(scope.route_configuration_name);
        const [fragment] = scope.key?.fragments ?? [];
        return [fragment?.string_key ?? '', scope.route_configuration_name ?? ''];
      }),
    );
  const hostsOf = (name: string) =>
    decode('envoy.config.route.v3.RouteConfiguration', all('routes').get(name)!.bytes()).virtual_hosts?.map(
      ({ name: virtualHost }) => virtualHost ?? '',
    );
  const changed = () => {
    const pass = engine.pass();
    return emitter.resources.flatMap(({ table }) => [...pass.of(table).keys()]);
  };
  return { engine, model, emitter, all, scopes, hostsOf, changed };
}

const name = (index: number) => `h${index}.example.com`;

function setUpHosts(count: number) {
  const parts = setUp();
  for (let index = 0; index < count; index++) {
    parts.model.virtualHosts.set(name(index), host(name(index), forward('/', 'web')));
  }
  parts.engine.pass();
  return parts;
}

describe('sharded tables', () => {
  test.each([0, 100, 400, 1_500])(
    'with %i hosts: every key leads to a table that holds the hosts of the key',
    (count) => {
      const { model, engine, scopes, hostsOf, all } = setUpHosts(count);
      model.virtualHosts.set('*.example.org', host('*.example.org', forward('/', 'web')));
      engine.pass();
      const targets = scopes();
      expect([...new Set(targets.values())].toSorted()).toEqual([...all('routes').keys()].toSorted());
      for (const table of ['http', 'https']) {
        for (let key = 0; key < KEYS; key++) expect(targets.has(`${table}-${key}`)).toBe(true);
        const hosts = new Map([...all('routes').keys()].map((routes) => [routes, hostsOf(routes)]));
        for (let index = 0; index < count; index++) {
          expect(hosts.get(targets.get(`${table}-${hostKey(name(index))}`)!)).toContain(name(index));
        }
        for (const held of hosts.values()) expect(held).toEqual(expect.arrayContaining(['*', '*.example.org']));
      }
    },
  );

  test('every table has a scope of its own, under a key that no request has', () => {
    const { scopes, all } = setUpHosts(1_000);
    for (const routes of all('routes').keys()) expect(scopes().get(routes)).toBe(routes);
    expect(scopes().size).toBe(2 * KEYS + all('routes').size);
  });

  test('a changed host changes its shard in both tables, and no scope', () => {
    const { model, changed, scopes } = setUpHosts(1_000);
    model.virtualHosts.set(name(7), host(name(7), forward('/new', 'web')));
    const key = hostKey(name(7));
    expect(changed().toSorted()).toEqual([scopes().get(`http-${key}`), scopes().get(`https-${key}`)]);
  });

  test('a wildcard host changes every shard', () => {
    const { model, changed, all } = setUpHosts(1_000);
    model.virtualHosts.set('*.example.org', host('*.example.org', forward('/', 'web')));
    expect(changed().toSorted()).toEqual([...all('routes').keys()].toSorted());
  });

  test('are the same however they came about, names and versions', () => {
    const host_ = fc.nat({ max: 300 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(host_, host_), { maxLength: 6 }),
        fc.integer({ min: 100, max: 200 }),
        (steps, count) => {
          const moved = setUp();
          for (const [first, last] of steps) {
            for (let index = first; index < last; index++) {
              moved.model.virtualHosts.set(name(index), host(name(index), forward(`/${first}`, 'web')));
            }
            moved.engine.pass();
          }
          for (let index = 0; index < 300; index++) {
            const now = index < count ? host(name(index), forward('/', 'web')) : undefined;
            moved.model.virtualHosts.set(name(index), now);
          }
          moved.engine.pass();
          const fresh = setUpHosts(count);
          for (const type of ['routes', 'scopedRoutes'] as const) {
            const versions = (parts: ReturnType<typeof setUp>) =>
              [...parts.all(type)].map(([resource, { version }]) => `${resource} ${version}`).toSorted();
            expect(versions(moved)).toEqual(versions(fresh));
            for (const [resource, { bytes }] of fresh.all(type)) {
              expect(Buffer.from(moved.all(type).get(resource)!.bytes()).equals(bytes())).toBe(true);
            }
          }
        },
      ),
      { numRuns: 8 },
    );
  });

  test('a host of many names stands in each table once, with the names that lead there', () => {
    const { model, engine, scopes, all } = setUpHosts(400);
    const aliases = Array.from({ length: 300 }, (_, index) => `alias-${index}.example.org`).toSorted();
    const names = ['named.example.com', ...aliases];
    model.virtualHosts.set('named.example.com', { ...host('named.example.com', forward('/', 'named')), aliases });
    engine.pass();
    const before = new Map([...all('routes')].map(([table, { version }]) => [table, version]));
    const targets = scopes();
    const found = new Map<string, string>();
    for (const [table, resource] of all('routes')) {
      const { virtual_hosts = [] } = decode('envoy.config.route.v3.RouteConfiguration', resource.bytes());
      expect(new Set(virtual_hosts.map(({ name: virtualHost }) => virtualHost)).size).toBe(virtual_hosts.length);
      const named = virtual_hosts.filter((one) => one.name === 'named.example.com');
      expect(resource.origin().includes('shop/named')).toBe(named.length === 1);
      for (const domain of named[0]?.domains ?? []) {
        found.set(`${table.split('/')[0]} ${domain}`, table);
        expect(named[0]?.routes).toHaveLength(1);
      }
    }
    expect(found.size).toBe(2 * names.length);
    for (const one of names) expect(found.get(`https ${one}`)).toBe(targets.get(`https-${hostKey(one)}`));
    // Another name reaches the table of its key alone.
    model.virtualHosts.set('named.example.com', {
      ...host('named.example.com', forward('/', 'named')),
      aliases: aliases.slice(1),
    });
    engine.pass();
    const after = all('routes');
    const moved = [...after].filter(([table, { version }]) => before.get(table) !== version).map(([table]) => table);
    expect(moved.toSorted()).toEqual([
      targets.get(`http-${hostKey(aliases[0]!)}`),
      targets.get(`https-${hostKey(aliases[0]!)}`),
    ]);
  });

  test('the origin of a table is what made its hosts', () => {
    const { model, engine, all, scopes } = setUpHosts(1_000);
    model.virtualHosts.set(name(7), host(name(7), forward('/', 'seven')));
    engine.pass();
    const routes = scopes().get(`https-${hostKey(name(7))}`)!;
    expect(all('routes').get(routes)!.origin()).toEqual(['shop/default', 'shop/seven', 'shop/web']);
    const other = [...all('routes').keys()].find((table) => table.startsWith('https/') && table !== routes)!;
    expect(all('routes').get(other)!.origin()).toEqual(['shop/default', 'shop/web']);
  });
});

describe('the advice to divide the table', () => {
  const advice = (count: number, routeSharding: boolean) => {
    const engine = new Engine();
    const model = createTestModel(engine);
    const emitter = createEmitter(engine, model, { ipv6: true, routeSharding }, createEncoder());
    model.virtualHosts.set('*', host('*', forward('/', 'default')));
    for (let index = 1; index < count; index++) {
      model.virtualHosts.set(name(index), host(name(index), forward('/', 'web')));
    }
    const pass = engine.pass();
    const tables = emitter.diagnosticTables;
    const codes = tables.flatMap((table) => [...pass.of(table).values()].flatMap((value) => value?.diagnostics ?? []));
    return codes.map(({ code }) => code);
  };

  test('is given above 1,000 hosts, once', () => {
    expect(advice(1_000, false)).toEqual([]);
    expect(advice(1_001, false)).toEqual(['RouteShardingRecommended']);
    expect(advice(1_001, true)).toEqual([]);
  });
});
