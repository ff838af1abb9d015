import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Engine } from '../derive.ts';
import type { envoy_config_route_v3_Route as RouteMessage } from '../gen/messages.ts';
import { createEmitter } from './emit.ts';
import { bodySizeLimit } from './filters/body-size-limit.ts';
import { statefulSession } from './filters/stateful-session.ts';
import { encodeFrame } from './frame.ts';
import { type FilterConfigs, hoist } from './hoist.ts';
import { typeUrls } from './resource.ts';
import { createTestModel, forward, host, respond } from './testing.ts';
import { createEncoder } from './wire-encoder.ts';

type Configs = Readonly<Record<string, FilterConfigs[string]>>;

function lua(text: string): Configs {
  const filter_context = { fields: { text: { string_value: text } } };
  return {
    'answer-rewrite': {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.lua.v3.LuaPerRoute',
      name: 'script',
      filter_context,
    },
  };
}

function session(name: string): Configs {
  return statefulSession({ name, path: '/', attributes: [] });
}

function route(...configs: readonly Configs[]): RouteMessage {
  const typed_per_filter_config = Object.assign({}, ...configs) as FilterConfigs;
  const match = { prefix: '/' };
  return { match, direct_response: { status: 200 }, typed_per_filter_config };
}

const FILTERS = ['answer-rewrite', 'body-size-limit', 'stateful-session'];
const OFF = { '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig', disabled: true };

/** What Envoy makes of it: the route's own word, else the host's. Filters that are off unless asked for need not be told. */
function inForce(own: Configs = {}, ofHost: Configs = {}) {
  return FILTERS.map((filter) => {
    const config = own[filter] ?? ofHost[filter];
    return filter !== 'body-size-limit' && JSON.stringify(config) === JSON.stringify(OFF) ? undefined : config;
  });
}

const long = 'x'.repeat(500);
const routes = fc.array(
  fc
    .tuple(
      fc.constantFrom({}, lua('a'), lua('b'), lua(long)),
      fc.constantFrom({}, bodySizeLimit(0), bodySizeLimit(7), bodySizeLimit(8)),
      fc.constantFrom({}, session('a'), session('b')),
    )
    .map((configs) => route(...(configs as Configs[]))),
  { maxLength: 8 },
);

describe('what routes of a host share', () => {
  test('changes for none of them', () => {
    fc.assert(
      fc.property(routes, (all) => {
        const hoisted = hoist(all);
        expect(
          hoisted.routes.map((one) => inForce(one.typed_per_filter_config, hoisted.typed_per_filter_config)),
        ).toEqual(all.map((one) => inForce(one.typed_per_filter_config)));
        expect(JSON.stringify(hoisted).length).toBeLessThanOrEqual(JSON.stringify({ routes: all }).length + 100);
      }),
    );
  });

  test('is said by the host, and routes without it are free of it', () => {
    const { routes: all, typed_per_filter_config } = hoist([
      route(lua(long)),
      route(lua(long)),
      route(),
      route(lua('b')),
    ]);
    expect(typed_per_filter_config).toEqual(lua(long));
    expect(all.map((one) => one.typed_per_filter_config)).toEqual([
      undefined,
      undefined,
      { 'answer-rewrite': OFF },
      lua('b'),
    ]);
  });

  test('stays with the routes where one of them keeps what every host has', () => {
    expect(hoist([route(bodySizeLimit(7)), route(bodySizeLimit(7)), route()]).typed_per_filter_config).toBeUndefined();
  });

  test('stays with the routes where the filter may put two of them together', () => {
    const all = [route(session('a')), route(session('a'))];
    expect(hoist(all).typed_per_filter_config).toEqual(session('a'));
    expect(hoist([...all, route(session('b'))]).typed_per_filter_config).toBeUndefined();
  });
});

test('a list of origins costs a host its length, whatever the number of paths', () => {
  const bytes = (count: number, paths: number) => {
    const origins = Array.from({ length: count }, (_, index) => ({
      scheme: 'https',
      host: `app-${index}.example.org`,
      oneLabelBefore: index % 2 === 0,
    }));
    const policy = { cors: { origins, methods: 'GET', headers: 'X-A', credentials: true, maxAgeSeconds: 1 } };
    const routes = Array.from({ length: paths }, (_, index) => forward(`/path-${index}`, 'web', policy));
    return encodeFrame(createEncoder(), host('shop.example.com', ...routes)).bytes.length;
  };
  const [base, origins, paths] = [bytes(1, 1), bytes(1_000, 1), bytes(1, 200)];
  expect(bytes(1_000, 200) - base).toBeLessThan(1.01 * (origins - base + paths - base));
});

test('an alias costs its name, whatever the number of paths', () => {
  const bytes = (names: number, paths: number) => {
    const aliases = Array.from({ length: names }, (_, index) => `alias-${index}.example.org`).toSorted();
    const engine = new Engine();
    const model = createTestModel(engine);
    const { resources } = createEmitter(engine, model, { ipv6: true }, createEncoder());
    const routes = Array.from({ length: paths }, (_, index) => forward(`/path-${index}`, 'web'));
    model.virtualHosts.set('a.example.com', { ...host('a.example.com', ...routes), aliases });
    engine.pass();
    const tables = resources.filter(({ typeUrl }) => typeUrl === typeUrls.routes).map(({ table }) => table);
    return tables
      .flatMap((table) => [...table.keys()].map((key) => table.get(key)!.bytes().length))
      .reduce((a, b) => a + b);
  };
  const [base, names, paths] = [bytes(1, 1), bytes(1_000, 1), bytes(1, 400)];
  expect(bytes(1_000, 400) - base).toBeLessThan(1.01 * (names - base + paths - base));
});

test('a list of addresses costs a host its length, whatever the number of paths', () => {
  const bytes = (addresses: number, paths: number) => {
    const deny = Array.from({ length: addresses }, (_, index) => `10.0.${index >> 8}.${index & 255}/32`);
    const policy = { addresses: { allow: [], deny } };
    const routes = Array.from({ length: paths }, (_, index) => forward(`/path-${index}`, 'web', policy));
    return encodeFrame(createEncoder(), host('shop.example.com', ...routes, respond('/', 404))).bytes.length;
  };
  const paths = bytes(1, 400) - bytes(1, 1);
  const addresses = bytes(1_000, 1) - bytes(1, 1);
  expect(bytes(1_000, 400) - bytes(1, 1)).toBeLessThan(1.1 * (paths + addresses));
});
