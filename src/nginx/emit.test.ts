import { describe, expect, test } from 'vitest';
import { Engine } from '../derive.ts';
import { createTestModel, forward, host, respond } from '../envoy/testing.ts';
import { DEFAULT_CERTIFICATE, type Endpoints, PrivateKey, type StreamListener } from '../model/proxy-model.ts';
import { DEFAULT_SETTINGS, SETTINGS } from '../model/settings.ts';
import { certificateFile } from './certificate-file.ts';
import { createNginxEmitter, NGINX, type NginxEmitOptions } from './emit.ts';
import { someNginx } from './testing.ts';

const OPTIONS: NginxEmitOptions = {
  nginx: { ...someNginx, hasHttp2Directive: true },
  ipv6: true,
  dynamic: false,
  luaFolder: '/lua',
  folder: '/run',
  resolvers: ['10.0.0.53', '[2001:db8::53]'],
};

function endpoints(name: string, ...ips: string[]): Endpoints {
  return { name, addresses: ips.map((ip) => ({ ip, port: 8080 })), diagnostics: [] };
}

function certificate(name: string, key = 'key') {
  return { name, chain: Buffer.from('chain'), key: new PrivateKey(key), dnsNames: [], notAfter: 0 };
}

function setUp(options: Partial<NginxEmitOptions> = {}) {
  const engine = new Engine();
  const model = createTestModel(engine);
  const emitter = createNginxEmitter(engine, model, { ...OPTIONS, ...options });
  model.listeners.set('http', { name: 'http', port: 8080, serverNames: [] });
  const serverNames = [
    { name: 'shop.example.com', certificate: 'shop/tls' },
    { name: '*.wild.example.com', certificate: 'shop/wild' },
  ];
  model.listeners.set('https', { name: 'https', port: 8443, serverNames });
  model.virtualHosts.set('*', host('*', respond('/', 404)));
  model.virtualHosts.set('shop.example.com', host('shop.example.com', forward('/', 'web')));
  model.virtualHosts.set('a.wild.example.com', host('a.wild.example.com', forward('/', 'none')));
  model.virtualHosts.set('blog.example.com', host('blog.example.com', forward('/', 'external')));
  for (const service of ['web', 'none', 'db']) {
    model.clusters.set(`shop/${service}/80`, {
      kind: 'endpoints',
      name: `shop/${service}/80`,
      endpoints: `shop/${service}/80`,
    });
  }
  model.clusters.set('shop/external/80', { kind: 'dns', name: 'shop/external/80', hostname: 'example.org', port: 81 });
  model.endpoints.set('shop/web/80', endpoints('shop/web/80', '10.0.0.1', '2001:db8::1'));
  model.endpoints.set('shop/db/80', endpoints('shop/db/80', '10.0.0.2'));
  model.streamListeners.set('tcp-9000', { name: 'tcp-9000', protocol: 'tcp', port: 9000, cluster: 'shop/db/80' });
  for (const name of ['shop/tls', 'shop/wild', DEFAULT_CERTIFICATE])
    model.certificates.set(name, certificate(name, name));
  engine.pass();
  /** How many configurations a change makes, which would each be rendered and loaded. */
  const cost = (change: () => void) => {
    change();
    const pass = engine.pass();
    return { configs: pass.of(emitter.config).size, backends: pass.of(emitter.backends).size };
  };
  const config = () => emitter.config.get(NGINX)!;
  const server = (name: string) => config().servers.find(({ host }) => host === name);
  const codes = () =>
    emitter.diagnosticTables.flatMap((table) =>
      [...table.keys()].flatMap(
        (key) => table.get(key)?.diagnostics.map(({ code, ref }) => `${code} ${ref?.name ?? ''}`) ?? [],
      ),
    );
  return { engine, model, emitter, cost, config, server, codes };
}

describe('what a template sees', () => {
  test('the default server first, then hosts by name', () => {
    const { config } = setUp();
    const hosts = ['*', 'a.wild.example.com', 'blog.example.com', 'shop.example.com'];
    expect(config().servers.map(({ host }) => host)).toEqual(hosts);
    expect(config().servers.map(({ isDefault }) => isDefault)).toEqual([true, false, false, false]);
    expect(config().settings).toMatchObject({ httpPort: 8080, httpsPort: 8443 });
  });

  test('certificates by exact name, by wildcard, and the default one', () => {
    const { model, server, config } = setUp();
    const file = (name: string) => certificateFile('/run', model.certificates.get(name)!);
    expect(server('shop.example.com')?.certificate).toBe(file('shop/tls'));
    expect(server('a.wild.example.com')?.certificate).toBe(file('shop/wild'));
    expect(server('blog.example.com')?.certificate).toBeUndefined();
    expect(config().settings.defaultCertificate).toBe(file(DEFAULT_CERTIFICATE));
  });

  test('addresses of those upstreams that locations use', () => {
    const { config, server } = setUp();
    expect(config().upstreams).toEqual([
      { name: 'shop_web_80', addresses: ['10.0.0.1:8080', '[2001:db8::1]:8080'], choice: { kind: 'round_robin' } },
    ]);
    expect(config().streams).toMatchObject([{ port: 9000, protocol: 'tcp', addresses: ['10.0.0.2:8080'] }]);
    expect(server('a.wild.example.com')?.locations).toMatchObject([{ forward: { available: false } }]);
    expect(server('blog.example.com')?.locations).toMatchObject([
      { forward: { available: true, resolve: 'example.org:81' } },
    ]);
    expect(config().settings.resolvers).toEqual(['10.0.0.53', '[2001:db8::53]']);
  });

  test('with Lua neither addresses nor certificates, which are brought at run time', () => {
    const { config, emitter, server } = setUp({ dynamic: true });
    expect(config().upstreams).toEqual([]);
    expect(config().settings.defaultCertificate).toBe('/run/default.pem');
    expect(config().servers.filter(({ certificate }) => certificate !== undefined)).toEqual([]);
    expect(server('a.wild.example.com')?.locations).toMatchObject([{ forward: { available: true } }]);
    expect(emitter.backends.get('shop/web/80')).toHaveLength(2);
    expect(emitter.serverNames.get('https')).toHaveLength(2);
  });
});

describe('what a change costs', () => {
  const newEndpoint = (parts: ReturnType<typeof setUp>) => () =>
    parts.model.endpoints.set('shop/web/80', endpoints('shop/web/80', '10.0.0.3'));

  test('a path: one configuration', () => {
    for (const dynamic of [false, true]) {
      const parts = setUp({ dynamic });
      const change = () =>
        parts.model.virtualHosts.set(
          'shop.example.com',
          host('shop.example.com', forward('/a', 'web'), respond('/', 404)),
        );
      expect(parts.cost(change)).toEqual({ configs: 1, backends: 0 });
    }
  });

  test('an endpoint: one configuration without Lua, none with it', () => {
    const plain = setUp();
    expect(plain.cost(newEndpoint(plain))).toEqual({ configs: 1, backends: 0 });
    const lua = setUp({ dynamic: true });
    expect(lua.cost(newEndpoint(lua))).toEqual({ configs: 0, backends: 1 });
  });

  test('the first endpoint and the last: none with Lua', () => {
    const { model, cost } = setUp({ dynamic: true });
    expect(cost(() => model.endpoints.set('shop/none/80', endpoints('shop/none/80', '10.0.0.4'))).configs).toBe(0);
    expect(cost(() => model.endpoints.set('shop/none/80', endpoints('shop/none/80'))).configs).toBe(0);
  });

  test('a rotated certificate: one configuration without Lua, none with it', () => {
    const rotate = (parts: ReturnType<typeof setUp>) => () =>
      parts.model.certificates.set('shop/tls', certificate('shop/tls', 'rotated'));
    const plain = setUp();
    expect(plain.cost(rotate(plain)).configs).toBe(1);
    const lua = setUp({ dynamic: true });
    expect(lua.cost(rotate(lua)).configs).toBe(0);
  });

  test('an endpoint of a TCP service: one configuration, with Lua too, since streams have none', () => {
    const { model, cost } = setUp({ dynamic: true });
    expect(cost(() => model.endpoints.set('shop/db/80', endpoints('shop/db/80', '10.0.0.5'))).configs).toBe(1);
  });

  test('what changes nothing: nothing', () => {
    const { model, cost } = setUp();
    const same = () => model.virtualHosts.set('shop.example.com', host('shop.example.com', forward('/', 'web')));
    expect(cost(same)).toEqual({ configs: 0, backends: 0 });
  });

  test('a new host between two powers of two leaves the sizes of the table of names', () => {
    const { model, engine, config } = setUp();
    const before = config().settings;
    model.virtualHosts.set('new.example.com', host('new.example.com', respond('/', 404)));
    engine.pass();
    expect(config().settings).toEqual(before);
  });
});

describe('what this nginx cannot do is told', () => {
  test('streams without their module', () => {
    const { config, codes } = setUp({ nginx: { ...OPTIONS.nginx, hasStream: false } });
    expect(config().streams).toEqual([]);
    expect(codes()).toEqual(['StreamEntryInvalid ']);
  });

  test('brotli without its module', () => {
    const brotli = { level: 4, minBytes: 20, types: ['text/html', 'text/css'] };
    const settings = { ...DEFAULT_SETTINGS, compression: { brotli } };
    const without = setUp({ nginx: { ...OPTIONS.nginx, hasBrotli: false } });
    without.model.settings.set(SETTINGS, settings);
    without.engine.pass();
    expect(without.config().settings.compression).toEqual({});
    expect(without.codes()).toEqual(['ConfigMapKeyUnsupported ']);
    const having = setUp();
    having.model.settings.set(SETTINGS, settings);
    having.engine.pass();
    expect(having.config().settings.compression).toMatchObject({ brotli: { types: [{ text: 'text/css' }] } });
    expect(having.codes()).toEqual([]);
  });

  test('external names without a DNS server; an address needs none', () => {
    const { model, engine, server, codes } = setUp({ resolvers: [] });
    expect(codes()).toEqual(['ExternalNameInvalid external']);
    expect(server('blog.example.com')?.locations).toMatchObject([{ forward: { available: false } }]);
    const address = { kind: 'dns', name: 'shop/external/80', hostname: '2001:db8::9', port: 81 } as const;
    model.clusters.set('shop/external/80', address);
    engine.pass();
    expect(codes()).toEqual([]);
    const forward = { available: true, resolve: '[2001:db8::9]:81' };
    expect(server('blog.example.com')?.locations).toMatchObject([{ forward }]);
  });

  test('external names of TCP services without a DNS server, which nginx could not load', () => {
    const { model, engine, config, codes } = setUp({ resolvers: [] });
    const listener: StreamListener = { name: 'tcp-25', protocol: 'tcp', port: 25, cluster: 'shop/external/80' };
    model.streamListeners.set('tcp-25', listener);
    engine.pass();
    expect(config().streams.map(({ port }) => port)).toEqual([9000]);
    expect(codes()).toEqual(['ExternalNameInvalid external']);
  });
});
