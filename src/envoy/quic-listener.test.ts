import { beforeAll, describe, expect, test } from 'vitest';
import { Engine } from '../derive.ts';
import { DEFAULT_CERTIFICATE, PrivateKey } from '../model/proxy-model.ts';
import { DEFAULT_SETTINGS, type ProxySettings, SETTINGS } from '../model/settings.ts';
import { decode, setStrict } from './codec.ts';
import { createEmitter } from './emit.ts';
import { QUIC_LISTENER } from './quic-listener.ts';
import { typeUrls } from './resource.ts';
import { createTestModel } from './testing.ts';
import { createEncoder } from './wire-encoder.ts';

beforeAll(() => setStrict(true));

const LISTENER = { ...DEFAULT_SETTINGS.listener, http3: { advertisedPort: 443 } };

function setUp(settings: Partial<ProxySettings> = {}) {
  const engine = new Engine();
  const model = createTestModel(engine);
  const emitter = createEmitter(engine, model, { ipv6: true }, createEncoder());
  const tables = emitter.resources.filter(({ typeUrl }) => typeUrl === typeUrls.listener).map(({ table }) => table);
  const listener = (name: string) => tables.map((table) => table.get(name)).find((found) => found !== undefined);
  const message = (name = QUIC_LISTENER) =>
    decode('envoy.config.listener.v3.Listener', listener(name)?.bytes() ?? new Uint8Array());
  const set = (more: Partial<ProxySettings>) =>
    model.settings.set(SETTINGS, { ...DEFAULT_SETTINGS, listener: LISTENER, ...more });
  const certificate = (name: string, key = 'key') =>
    model.certificates.set(name, {
      name,
      chain: Buffer.from('chain'),
      key: new PrivateKey(key),
      dnsNames: [],
      notAfter: 0,
    });
  const serve = (...names: readonly string[]) =>
    model.listeners.set('https', {
      name: 'https',
      port: 443,
      serverNames: names.map((name) => ({ name: `${name}.example.com`, certificate: `${name}/tls` })),
    });
  /** What a change encodes, and which listeners it changes. */
  const cost = (change: () => void) => {
    const before = emitter.counters();
    change();
    const pass = engine.pass();
    expect(pass.failures).toEqual([]);
    const encodes = Object.entries(emitter.counters()).map(([kind, n]) => [kind, n - (before[kind] ?? 0)] as const);
    return {
      encodes: Object.fromEntries(encodes.filter(([, count]) => count > 0)),
      listeners: tables.flatMap((table) => [...pass.of(table).keys()]).toSorted(),
    };
  };
  model.listeners.set('http', { name: 'http', port: 80, serverNames: [] });
  certificate(DEFAULT_CERTIFICATE);
  certificate('shop/tls');
  serve('shop');
  set(settings);
  cost(() => {});
  return { model, listener, message, set, certificate, serve, cost };
}

describe('the listener for HTTP/3', () => {
  test('has the chains, the matcher and the port of that for HTTPS, over UDP', () => {
    const { message } = setUp();
    const [quic, https] = [message(), message('https')];
    expect(quic.filter_chain_matcher).toEqual(https.filter_chain_matcher);
    expect(quic.filter_chains?.map(({ name }) => name)).toEqual(https.filter_chains?.map(({ name }) => name));
    expect(quic.default_filter_chain?.name).toBe(https.default_filter_chain?.name);
    expect(quic.address).toEqual({ socket_address: { protocol: 1, address: '0.0.0.0', port_value: 443 } });
    expect(quic.additional_addresses).toEqual([
      { address: { socket_address: { protocol: 1, address: '::', port_value: 443 } } },
    ]);
  });

  test('is not there unless it is wanted, and goes alone', () => {
    const { listener, set, cost } = setUp();
    expect(listener(QUIC_LISTENER)).toBeDefined();
    cost(() => set({ listener: DEFAULT_SETTINGS.listener }));
    expect(listener(QUIC_LISTENER)).toBeUndefined();
    expect(listener('https')).toBeDefined();
  });

  test.each<[string, Partial<ProxySettings>]>([
    ['HTTP/2', { clients: { ...DEFAULT_SETTINGS.clients, http2Streams: 7 } }],
    [
      'TLS',
      { tls: { ...DEFAULT_SETTINGS.tls, http2: false, ciphers: ['ECDHE-RSA-AES128-GCM-SHA256'], curves: ['P-256'] } },
    ],
    ['whether the proxy remembers sessions', { tls: { ...DEFAULT_SETTINGS.tls, sessionCache: false } }],
  ])('stays as it is when settings of %s change', (_, settings) => {
    const { set, cost } = setUp();
    const { listeners } = cost(() => set(settings));
    expect(listeners).toContain('https');
    expect(listeners).not.toContain(QUIC_LISTENER);
  });

  test('remembers sessions by tickets alone, and takes nothing in the first flight', () => {
    const { message } = setUp({ tls: { ...DEFAULT_SETTINGS.tls, sessionTickets: true, earlyData: true } });
    const socket = message().default_filter_chain?.transport_socket?.typed_config;
    expect(socket).toHaveProperty('enable_resumption', { value: true });
    // A message that is there and holds what false is.
    expect(socket).toHaveProperty('enable_early_data', {});
  });
});

describe('what a change costs with HTTP/3', () => {
  test('a new certificate: one chain for each listener', () => {
    const { certificate, serve, cost } = setUp();
    const change = () => {
      certificate('blog/tls');
      serve('blog', 'shop');
    };
    expect(cost(change)).toEqual({
      encodes: { FilterChain: 2, Listener: 2, Secret: 2 },
      listeners: ['https', QUIC_LISTENER],
    });
  });

  test('a renewed certificate: its secrets, no listener', () => {
    const { certificate, cost } = setUp();
    expect(cost(() => certificate('shop/tls', 'another key'))).toEqual({ encodes: { Secret: 2 }, listeners: [] });
  });
});
