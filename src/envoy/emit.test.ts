import { beforeAll, describe, expect, test } from 'vitest';
import { Engine, type Pass } from '../derive.ts';
import { DEFAULT_CERTIFICATE, type Endpoints, PrivateKey } from '../model/proxy-model.ts';
import { DEFAULT_SETTINGS, SETTINGS } from '../model/settings.ts';
import { decode, setStrict, toJson } from './codec.ts';
import { createEmitter, type EmitOptions } from './emit.ts';
import { httpFilters } from './http-filters.ts';
import { type EncodedResource, typeUrls } from './resource.ts';
import { createTestModel, forward, host, respond, TO_HTTPS } from './testing.ts';
import { createEncoder } from './wire-encoder.ts';

beforeAll(() => setStrict(true));

function setUp(options: EmitOptions = { ipv6: true }) {
  const engine = new Engine();
  const model = createTestModel(engine);
  const emitter = createEmitter(engine, model, options, createEncoder());
  const resource = (type: keyof typeof typeUrls, name: string): EncodedResource | undefined => {
    const tables = emitter.resources.filter(({ typeUrl }) => typeUrl === typeUrls[type]);
    return tables.map(({ table }) => table.get(name)).find((found) => found !== undefined);
  };
  /** Which resources a pass changed. */
  const changed = (pass: Pass) =>
    emitter.resources.flatMap(({ table }) =>
      [...pass.of(table)].map(([name, value]) => `${value ? '' : '-'}${table.name} ${name}`),
    );
  /** How many messages of which kind the change encoded, and which resources it changed. */
  const cost = (change: () => void) => {
    const before = emitter.counters();
    change();
    const pass = engine.pass();
    const encodes = Object.entries(emitter.counters()).map(
      ([kind, count]) => [kind, count - (before[kind] ?? 0)] as const,
    );
    return { encodes: Object.fromEntries(encodes.filter(([, count]) => count > 0)), resources: changed(pass) };
  };
  return { engine, model, emitter, resource, cost };
}

function endpoints(name: string, ...ips: string[]): Endpoints {
  return { name, addresses: ips.map((ip) => ({ ip, port: 8080 })), diagnostics: [] };
}

function certificate(name: string, key = 'key') {
  return { name, chain: Buffer.from('chain'), key: new PrivateKey(key), dnsNames: [], notAfter: 0 };
}

/** Two hosts, one of them with TLS, and what they need. */
function setUpShop() {
  const parts = setUp();
  const { model, engine } = parts;
  model.listeners.set('http', { name: 'http', port: 80, serverNames: [] });
  model.listeners.set('https', {
    name: 'https',
    port: 443,
    serverNames: [{ name: 'shop.example.com', certificate: 'shop/tls' }],
  });
  model.virtualHosts.set('*', host('*', respond('/', 404)));
  model.virtualHosts.set('shop.example.com', host('shop.example.com', forward('/', 'web', TO_HTTPS)));
  model.virtualHosts.set('blog.example.com', host('blog.example.com', forward('/', 'web')));
  model.clusters.set('shop/web/80', { kind: 'endpoints', name: 'shop/web/80', endpoints: 'shop/web/80' });
  model.endpoints.set('shop/web/80', endpoints('shop/web/80', '10.0.0.1'));
  model.certificates.set('shop/tls', certificate('shop/tls'));
  model.certificates.set(DEFAULT_CERTIFICATE, certificate(DEFAULT_CERTIFICATE));
  expect(engine.pass().failures).toEqual([]);
  return parts;
}

describe('what a change costs', () => {
  test('nothing, when nothing differs', () => {
    const { model, cost } = setUpShop();
    const again = () =>
      model.virtualHosts.set('blog.example.com', { ...host('blog.example.com', forward('/', 'web')) });
    expect(cost(again)).toEqual({ encodes: {}, resources: [] });
  });

  test('a setting of requests: what carries it, no host', () => {
    const { model, cost } = setUpShop();
    const http = { ...DEFAULT_SETTINGS.http, generateRequestId: false };
    expect(cost(() => model.settings.set(SETTINGS, { ...DEFAULT_SETTINGS, http }))).toEqual({
      encodes: { FilterChain: 2, HttpConnectionManager: 2, Listener: 2 },
      resources: ['listener-resource http', 'listener-resource https'],
    });
  });

  test('a setting of compression: its filter alone, no listener', () => {
    const { model, cost, resource } = setUpShop();
    const gzip = { level: 1, minBytes: 256, types: 'all' } as const;
    const change = cost(() => model.settings.set(SETTINGS, { ...DEFAULT_SETTINGS, compression: { gzip } }));
    expect(change.resources).toEqual(['filter-config-resource compression']);
    expect(change.encodes['TypedExtensionConfig']).toBe(1);
    expect(change.encodes['Listener']).toBeUndefined();
    const other = { ...DEFAULT_SETTINGS.upstream, connectTimeoutSeconds: 7 };
    const again = cost(() =>
      model.settings.set(SETTINGS, { ...DEFAULT_SETTINGS, compression: { gzip }, upstream: other }),
    );
    expect(again.encodes['TypedExtensionConfig']).toBeUndefined();
    expect(resource('extension', 'compression')).toBeDefined();
  });

  test('every filter whose configuration is to be fetched has one', () => {
    const { resource } = setUpShop();
    const named = httpFilters(DEFAULT_SETTINGS, undefined).filter((filter) => filter.config_discovery !== undefined);
    expect(named.map(({ name }) => name)).toContain('compression');
    for (const { name = '', config_discovery } of named) {
      const bytes = resource('extension', name)?.bytes() ?? new Uint8Array();
      const { typed_config } = decode('envoy.config.core.v3.TypedExtensionConfig', bytes);
      expect(config_discovery?.type_urls).toEqual([(typed_config as { '@type'?: string } | undefined)?.['@type']]);
    }
  });

  test('a setting of clusters: no listener', () => {
    const { model, cost } = setUpShop();
    const change = () =>
      model.settings.set(SETTINGS, {
        ...DEFAULT_SETTINGS,
        upstream: { ...DEFAULT_SETTINGS.upstream, connectTimeoutSeconds: 7 },
      });
    expect(cost(change).resources).toEqual(['cluster-resource shop/web/80']);
  });

  test('one more certificate: its chain, its secret and the listener, no other chain', () => {
    const { model, cost } = setUpShop();
    const change = () => {
      model.certificates.set('blog/tls', certificate('blog/tls'));
      model.listeners.set('https', {
        name: 'https',
        port: 443,
        serverNames: [
          { name: 'blog.example.com', certificate: 'blog/tls' },
          { name: 'shop.example.com', certificate: 'shop/tls' },
        ],
      });
    };
    expect(cost(change)).toEqual({
      encodes: { FilterChain: 1, Listener: 1, Secret: 1 },
      resources: expect.arrayContaining(['secret-resource blog/tls', 'listener-resource https']),
    });
  });

  test('a path of a host without TLS: one host, which both tables show', () => {
    const { model, cost } = setUpShop();
    const change = () =>
      model.virtualHosts.set('blog.example.com', host('blog.example.com', respond('/x', 204), forward('/', 'web')));
    expect(cost(change)).toEqual({
      encodes: { VirtualHost: 1 },
      resources: ['http-routes http', 'https-routes https'],
    });
  });

  test('a path of a host that redirects: one host in one table', () => {
    const { model, cost } = setUpShop();
    const change = () =>
      model.virtualHosts.set(
        'shop.example.com',
        host('shop.example.com', forward('/x', 'web', TO_HTTPS), forward('/', 'web', TO_HTTPS)),
      );
    expect(cost(change)).toEqual({ encodes: { VirtualHost: 1 }, resources: ['https-routes https'] });
  });

  test('a size of bodies: the tables that show the host, no listener', () => {
    const { model, cost } = setUpShop();
    const size = { ...TO_HTTPS, bodySize: { maxBytes: 12_345 } };
    const larger = () =>
      model.virtualHosts.set('shop.example.com', host('shop.example.com', forward('/', 'web', size)));
    expect(cost(larger)).toEqual({
      encodes: { VirtualHost: 2 },
      resources: ['http-routes http', 'https-routes https'],
    });
  });

  test('what a model says beside what is sent, such as diagnostics and origins: no resource', () => {
    const { model, cost } = setUpShop();
    const moved = { ...forward('/', 'web'), origin: { ingress: 'shop/other', field: 'spec.rules[7]' } };
    expect(cost(() => model.virtualHosts.set('blog.example.com', host('blog.example.com', moved))).resources).toEqual(
      [],
    );
  });

  test('endpoints: their assignment', () => {
    const { model, cost } = setUpShop();
    expect(cost(() => model.endpoints.set('shop/web/80', endpoints('shop/web/80', '10.0.0.1', '10.0.0.2')))).toEqual({
      encodes: { ClusterLoadAssignment: 1 },
      resources: ['endpoints-resource shop/web/80'],
    });
  });

  test('a rotated certificate: its secret', () => {
    const { model, cost } = setUpShop();
    expect(cost(() => model.certificates.set('shop/tls', certificate('shop/tls', 'new')))).toEqual({
      encodes: { Secret: 1 },
      resources: ['secret-resource shop/tls'],
    });
  });

  test('a removed host: nothing is encoded', () => {
    const { model, cost } = setUpShop();
    expect(cost(() => model.virtualHosts.set('shop.example.com', undefined))).toEqual({
      encodes: {},
      resources: ['http-routes http', 'https-routes https'],
    });
  });

  test('removed cluster, endpoints, certificate: they are removed', () => {
    const { model, cost } = setUpShop();
    const remove = () => {
      model.clusters.set('shop/web/80', undefined);
      model.endpoints.set('shop/web/80', undefined);
      model.certificates.set('shop/tls', undefined);
    };
    expect(cost(remove).resources).toEqual([
      '-cluster-resource shop/web/80',
      '-endpoints-resource shop/web/80',
      '-secret-resource shop/tls',
      'listener-resource https',
    ]);
  });
});

describe('resources', () => {
  test('a cluster names its endpoints and the Ingresses that lead to it', () => {
    const { resource } = setUpShop();
    const cluster = resource('cluster', 'shop/web/80');
    expect(cluster).toMatchObject({ name: 'shop/web/80', endpoints: 'shop/web/80' });
    expect(cluster?.origin()).toEqual(['shop/web']);
    expect(decode('envoy.config.cluster.v3.Cluster', cluster!.bytes()).eds_cluster_config?.service_name).toBe(
      'shop/web/80',
    );
  });

  test('a name outside the cluster is resolved without holding up anything, by the servers that are asked for', () => {
    const { model, engine, resource } = setUp({ ipv6: true, dnsServers: [{ ip: '127.0.0.1', port: 5353 }] });
    model.clusters.set('shop/ext/80', { kind: 'dns', name: 'shop/ext/80', hostname: 'api.example.org', port: 80 });
    engine.pass();
    expect(toJson('envoy.config.cluster.v3.Cluster', resource('cluster', 'shop/ext/80')!.bytes())).toMatchObject({
      wait_for_warm_on_init: false,
      cluster_type: {
        typed_config: {
          typed_dns_resolver_config: {
            typed_config: { resolvers: [{ socket_address: { address: '127.0.0.1', port_value: 5353 } }] },
          },
        },
      },
    });
    expect(resource('cluster', 'shop/ext/80')).not.toHaveProperty('endpoints');
  });

  test('no ready endpoint is an assignment without endpoints', () => {
    const { model, engine, resource } = setUp();
    model.endpoints.set('shop/web/80', endpoints('shop/web/80'));
    engine.pass();
    const message = decode(
      'envoy.config.endpoint.v3.ClusterLoadAssignment',
      resource('endpoints', 'shop/web/80')!.bytes(),
    );
    expect(message).toEqual({ cluster_name: 'shop/web/80' });
  });

  test('an address that is none fails its unit, with a reason', () => {
    const { model, engine } = setUp();
    model.endpoints.set('shop/web/80', endpoints('shop/web/80', 'localhost'));
    expect(engine.pass().failures.map(({ table, error }) => `${table}: ${(error as Error).message}`)).toEqual([
      'endpoints-resource: endpoints shop/web/80: "localhost" is no IP address',
    ]);
  });

  test('a rule of the schema that is broken fails its unit, with field and rule', () => {
    const { model, engine } = setUp();
    model.endpoints.set('shop/web/80', {
      name: 'shop/web/80',
      addresses: [{ ip: '10.0.0.1', port: 70_000 }],
      diagnostics: [],
    });
    expect(engine.pass().failures.map(({ error }) => (error as Error).message)).toEqual([
      expect.stringMatching(
        /^ClusterLoadAssignment shop\/web\/80 would be refused by Envoy: endpoints\[0\].*port_value/,
      ),
    ]);
  });

  test('do not show a private key when they are printed', () => {
    const { resource } = setUpShop();
    const secret = resource('secret', 'shop/tls');
    expect(Buffer.from(secret!.bytes()).includes('key')).toBe(true);
    expect(JSON.stringify(secret)).not.toContain('chain');
  });

  test('tables are there without a host, and name every Ingress', () => {
    expect(setUp().engine.pass().failures).toEqual([]);
    expect(setUpShop().resource('routes', 'http')?.origin()).toEqual(['shop/web']);
  });
});

describe('the https listener', () => {
  const chains = (bytes: Uint8Array) => {
    const listener = decode('envoy.config.listener.v3.Listener', bytes);
    return listener.filter_chains?.map(({ name }) => name) ?? [];
  };

  test('has a chain for each certificate that a name leads to, however many names', () => {
    const { model, engine, resource } = setUpShop();
    const serverNames = ['a', 'b', 'c'].map((label) => ({ name: `${label}.example.com`, certificate: 'shop/tls' }));
    model.listeners.set('https', { name: 'https', port: 443, serverNames });
    engine.pass();
    expect(chains(resource('listener', 'https')!.bytes())).toEqual([DEFAULT_CERTIFICATE, 'shop/tls']);
  });

  test('leaves names whose certificate is missing to the default chain', () => {
    const { model, engine, resource } = setUpShop();
    model.certificates.set('shop/tls', undefined);
    engine.pass();
    const listener = decode('envoy.config.listener.v3.Listener', resource('listener', 'https')!.bytes());
    // Envoy replaces a listener as a whole when it has no chain but the default one.
    expect(listener.filter_chains?.map(({ name }) => name)).toEqual([DEFAULT_CERTIFICATE]);
    expect(listener.filter_chain_matcher).toBeUndefined();
    expect(listener.default_filter_chain?.name).toBe('default');
  });

  test('leads a name to the chain of the default certificate where it asks for it', () => {
    const { model, engine, resource } = setUpShop();
    const serverNames = [{ name: 'a.example.com', certificate: DEFAULT_CERTIFICATE }];
    model.listeners.set('https', { name: 'https', port: 443, serverNames });
    engine.pass();
    expect(chains(resource('listener', 'https')!.bytes())).toEqual([DEFAULT_CERTIFICATE]);
  });

  test('does not change the bytes of a chain when another comes', () => {
    const { model, engine, resource } = setUpShop();
    const chain = () =>
      decode('envoy.config.listener.v3.Listener', resource('listener', 'https')!.bytes()).filter_chains?.at(-1);
    const before = chain();
    model.certificates.set('blog/tls', certificate('blog/tls'));
    model.listeners.set('https', {
      name: 'https',
      port: 443,
      serverNames: [
        { name: 'blog.example.com', certificate: 'blog/tls' },
        { name: 'shop.example.com', certificate: 'shop/tls' },
      ],
    });
    engine.pass();
    expect(chains(resource('listener', 'https')!.bytes())).toEqual(['blog/tls', DEFAULT_CERTIFICATE, 'shop/tls']);
    expect(chain()).toEqual(before);
  });

  test('binds IPv6 only where there is any', () => {
    const addresses = (options: EmitOptions) => {
      const { model, engine, resource } = setUp(options);
      model.listeners.set('http', { name: 'http', port: 80, serverNames: [] });
      engine.pass();
      return decode('envoy.config.listener.v3.Listener', resource('listener', 'http')!.bytes()).additional_addresses;
    };
    expect(addresses({ ipv6: true })).toMatchObject([
      { address: { socket_address: { address: '::', port_value: 80 } } },
    ]);
    expect(addresses({ ipv6: false })).toBeUndefined();
  });
});

test('a host that Envoy would refuse answers 503, and its Diagnostic stands in a table', () => {
  const { model, engine, emitter } = setUpShop();
  model.virtualHosts.set('blog.example.com', host('blog.example.com', forward('/bad/', 'web')));
  const pass = engine.pass();
  expect(pass.failures).toEqual([]);
  const diagnostics = emitter.diagnosticTables.flatMap(
    (table) => pass.of(table).get('blog.example.com')?.diagnostics ?? [],
  );
  expect(diagnostics).toMatchObject([{ code: 'ResourceInvalid', ref: { name: 'web' } }]);
  model.virtualHosts.set('blog.example.com', host('blog.example.com', forward('/good', 'web')));
  const after = engine.pass();
  expect(
    emitter.diagnosticTables.flatMap((table) => after.of(table).get('blog.example.com')?.diagnostics ?? []),
  ).toEqual([]);
});
