import { beforeAll, describe, expect, test } from 'vitest';
import { Engine } from '../derive.ts';
import { DEFAULT_STREAMS } from '../model/connection-settings.ts';
import type { StreamListener } from '../model/proxy-model.ts';
import { DEFAULT_STREAM_LOG_FORMAT } from '../model/stream-log-format.ts';
import { decode, setStrict } from './codec.ts';
import { createEmitter } from './emit.ts';
import { streamListener } from './stream-listener.ts';
import { createTestModel } from './testing.ts';
import { createEncoder } from './wire-encoder.ts';

beforeAll(() => setStrict(true));

const tcp: StreamListener = { name: 'tcp-9000', protocol: 'tcp', port: 9000, cluster: 'shop/db/5432' };
const udp: StreamListener = { name: 'udp-53', protocol: 'udp', port: 53, cluster: 'shop/dns/53/udp' };

describe('a listener', () => {
  test('of TCP is bound to every address, and leads to its cluster', () => {
    expect(streamListener(tcp, DEFAULT_STREAMS, { addresses: ['0.0.0.0', '::'] })).toMatchObject({
      name: 'tcp-9000',
      address: { socket_address: { address: '0.0.0.0', port_value: 9000 } },
      additional_addresses: [{ address: { socket_address: { address: '::', port_value: 9000 } } }],
      filter_chains: [
        {
          filters: [
            {
              name: 'envoy.filters.network.tcp_proxy',
              typed_config: {
                cluster: 'shop/db/5432',
                stat_prefix: 'tcp-9000',
                idle_timeout: { seconds: 600 },
                max_connect_attempts: { value: 3 },
              },
            },
          ],
        },
      ],
    });
    expect(streamListener(tcp, DEFAULT_STREAMS, { addresses: ['0.0.0.0', '::'] })).not.toHaveProperty(
      'listener_filters',
    );
    expect(streamListener(tcp, DEFAULT_STREAMS, { addresses: ['0.0.0.0'] })).not.toHaveProperty('additional_addresses');
  });

  test('reads the PROXY protocol where it is expected, for five seconds', () => {
    expect(
      streamListener({ ...tcp, proxyProtocol: true }, DEFAULT_STREAMS, { addresses: ['0.0.0.0', '::'] }),
    ).toMatchObject({
      listener_filters: [{ name: 'envoy.filters.listener.proxy_protocol' }],
      listener_filters_timeout: { seconds: 5 },
    });
  });

  test('of UDP is bound over UDP', () => {
    expect(streamListener(udp, DEFAULT_STREAMS, { addresses: ['0.0.0.0', '::'] })).toMatchObject({
      address: { socket_address: { protocol: 1, address: '0.0.0.0', port_value: 53 } },
      additional_addresses: [{ address: { socket_address: { protocol: 1, address: '::', port_value: 53 } } }],
      listener_filters: [{ name: 'envoy.filters.udp_listener.udp_proxy' }],
    });
  });

  test.each([tcp, udp])('$protocol: is logged if that is wanted', (listener) => {
    expect(
      JSON.stringify(
        streamListener(listener, DEFAULT_STREAMS, { addresses: ['0.0.0.0', '::'], log: DEFAULT_STREAM_LOG_FORMAT }),
      ),
    ).toContain('access_loggers');
    expect(JSON.stringify(streamListener(listener, DEFAULT_STREAMS, { addresses: ['0.0.0.0', '::'] }))).not.toContain(
      'access_log',
    );
  });
});

describe('what a change costs', () => {
  function setUp() {
    const engine = new Engine();
    const model = createTestModel(engine);
    const emitter = createEmitter(engine, model, { ipv6: true }, createEncoder());
    const cost = (change: () => void) => {
      const before = emitter.counters();
      change();
      const pass = engine.pass();
      expect(pass.failures).toEqual([]);
      const encodes = Object.entries(emitter.counters()).map(([kind, n]) => [kind, n - (before[kind] ?? 0)] as const);
      return {
        encodes: Object.fromEntries(encodes.filter(([, count]) => count > 0)),
        resources: emitter.resources.flatMap(({ table }) => [...pass.of(table).keys()]),
      };
    };
    return { model, emitter, cost };
  }

  test('an entry: one listener is encoded, however many there are', () => {
    const { model, emitter, cost } = setUp();
    for (let port = 9000; port < 9100; port++) {
      model.streamListeners.set(`tcp-${port}`, { ...tcp, name: `tcp-${port}`, port });
    }
    cost(() => {});
    const changed = { ...tcp, name: 'tcp-9050', port: 9050, cluster: 'shop/other/1' };
    expect(cost(() => model.streamListeners.set('tcp-9050', changed))).toEqual({
      encodes: { Listener: 1 },
      resources: ['tcp-9050'],
    });
    const resources = emitter.resources.map(({ table }) => table.get('tcp-9050')).filter((one) => one !== undefined);
    expect(resources.map(({ cluster }) => cluster)).toEqual(['shop/other/1']);
    expect(cost(() => model.streamListeners.set('tcp-9050', undefined))).toEqual({
      encodes: {},
      resources: ['tcp-9050'],
    });
  });

  test('a cluster with a policy sends the PROXY protocol in version 1', () => {
    const { model, emitter, cost } = setUp();
    const name = 'shop/db/5432~12345678';
    const policy = { proxyProtocol: true } as const;
    cost(() => model.clusters.set(name, { kind: 'endpoints', name, endpoints: 'shop/db/5432', policy }));
    const bytes = emitter.resources
      .map(({ table }) => table.get(name))
      .find((found) => found !== undefined)
      ?.bytes();
    const message = decode('envoy.config.cluster.v3.Cluster', bytes ?? new Uint8Array());
    expect(message).toMatchObject({ transport_socket: { name: 'envoy.transport_sockets.upstream_proxy_protocol' } });
  });
});
