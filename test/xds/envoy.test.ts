/** What the order of responses rests on: how a real Envoy acknowledges clusters, and what it asks for after a reconnect. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findEnvoy } from '../../src/envoy/binary.ts';
import { buildBootstrap } from '../../src/envoy/bootstrap.ts';
import { encode } from '../../src/envoy/codec.ts';
import type { StreamLimits } from '../../src/xds/limits.ts';
import type { XdsEvent } from '../../src/xds/observer.ts';
import type { ResourceChange } from '../../src/xds/resource.ts';
import { createXdsServer, type XdsServer } from '../../src/xds/server.ts';
import { SnapshotStore } from '../../src/xds/store.ts';
import { peerCertificate } from '../support/http-client.ts';
import { makePair } from '../support/pki.ts';
import { freePorts } from '../support/static-envoy.ts';
import { CDS, EDS, LDS, RDS, SDS } from './support.ts';

const ADS = { ads: {}, resource_api_version: 2 } as const;

let folder: string;
let store: SnapshotStore;
let server: XdsServer;
let envoy: ChildProcess;
let silentDns: Socket;
let events: XdsEvent[];
let waiters: (() => void)[];

function observe(event: XdsEvent): void {
  events.push(event);
  for (const waiter of waiters.splice(0)) waiter();
}

/** Waits until an event since `from` fits. @returns how long that took, in milliseconds. */
async function happens(from: number, fits: (event: XdsEvent) => boolean): Promise<number> {
  const begin = performance.now();
  while (!events.slice(from).some(fits)) {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('did not happen')), 20_000);
      waiters.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
  return performance.now() - begin;
}

/** Commits and waits until Envoy has accepted a response of the type that was sent after. */
async function accepted(typeUrl: string, changes: ResourceChange[]): Promise<number> {
  const from = events.length;
  store.commit(changes);
  return happens(from, (event) => event.kind === 'ack' && event.typeUrl === typeUrl);
}

async function serve(limits: Partial<StreamLimits> = {}): Promise<void> {
  server = createXdsServer({ store, observe, limits });
  await server.listen(`unix:${join(folder, 'xds.sock')}`);
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'xds-envoy-'));
  events = [];
  waiters = [];
  store = new SnapshotStore(observe);
  silentDns = createSocket('udp4');
  silentDns.bind(0, '127.0.0.1');
  await once(silentDns, 'listening');
  await serve();
  const config = join(folder, 'bootstrap.json');
  const xds = { kind: 'unix', path: join(folder, 'xds.sock') } as const;
  const node = { id: 'test', cluster: 'test' };
  writeFileSync(config, JSON.stringify(buildBootstrap({ node, xds, adminSocket: join(folder, 'admin.sock') })));
  const { path } = await findEnvoy();
  envoy = spawn(path, ['-c', config, '--disable-hot-restart', '--concurrency', '1', '-l', 'off'], { stdio: 'ignore' });
  store.commit([cluster('a', 1), endpoints('a'), listener(), routes('a')]);
  await happens(0, (event) => event.kind === 'ack' && event.typeUrl === RDS);
});

afterEach(async () => {
  const exited = once(envoy, 'exit');
  envoy.kill('SIGKILL');
  await exited;
  await server.close({ graceMs: 0 });
  silentDns.close();
  rmSync(folder, { recursive: true, force: true });
});

test('a changed cluster is accepted at once, because its endpoints follow', async () => {
  expect(await accepted(CDS, [cluster('a', 2)])).toBeLessThan(5000);
});

test('a cluster that never warms silences all, and yet others get their routes', async () => {
  const from = events.length;
  store.commit([silentCluster('slow')]);
  await happens(from, (event) => event.kind === 'response' && event.typeUrl === CDS);
  await accepted(RDS, [cluster('b', 1), endpoints('b'), routes('a', 'b')]);
  expect(await accepted(RDS, [cluster('c', 1), endpoints('c'), routes('a', 'b', 'c')])).toBeLessThan(900);
  expect(events.slice(from).filter((event) => event.kind === 'ack' && event.typeUrl === CDS)).toEqual([]);
  expect(events.slice(from).filter((event) => event.kind === 'nack')).toEqual([]);
});

test('a control plane that died between a cluster and its endpoints costs no 15 seconds', async () => {
  const from = events.length;
  const { typeUrl, name, resource } = cluster('a', 3);
  const bytes = resource?.bytes() ?? new Uint8Array();
  store.commit([change(typeUrl, name, bytes)]);
  // Envoy reads in order: when it has accepted this, it has the cluster, whose endpoints do not follow as nobody knows of them.
  await accepted(RDS, [routes('a', 'a2')]);
  await server.close({ graceMs: 0 });
  expect(events.slice(from).filter((event) => event.kind === 'ack' && event.typeUrl === CDS)).toEqual([]);

  await serve();
  expect(await accepted(RDS, [cluster('b', 1), endpoints('b'), routes('a', 'b')])).toBeLessThan(10_000);
  const clusters = events.filter((event) => event.kind === 'response' && event.typeUrl === CDS);
  expect(clusters.at(-1)).toMatchObject({ names: ['b'] });
});

test('a secret that Envoy refuses keeps nothing from its neighbours', async () => {
  const [port = 0] = await freePorts(1);
  const hosts = ['a.example.com', 'b.example.com', 'bad.example.com', 'c.example.com'];
  const pairs = await Promise.all(hosts.map((host) => makePair([host])));
  const secrets = pairs.map(({ chain, key }, index) => secret(hosts[index] ?? '', chain, key));
  const bad = secret(
    'bad.example.com',
    '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
    pairs[2]?.key ?? '',
  );
  const from = events.length;
  store.commit([...secrets.filter(({ name }) => name !== bad.name), bad, tlsListener(port, hosts)]);
  await happens(from, (event) => event.kind === 'nack');
  store.commit([routes('a', 'b')]);
  await happens(from, (event) => event.kind === 'programmed' && event.seq === store.seq);
  const served = hosts.filter((host) => host !== bad.name);
  for (const host of served) expect((await peerCertificate(port, host)).subjectaltname).toBe(`DNS:${host}`);
  await accepted(
    SDS,
    secrets.filter(({ name }) => name === bad.name),
  );
  expect((await peerCertificate(port, bad.name)).subjectaltname).toBe(`DNS:${bad.name}`);
});

let lastVersion = 0;

function change(typeUrl: ResourceChange['typeUrl'], name: string, bytes: Uint8Array, named?: string): ResourceChange {
  const version = String(++lastVersion);
  const resource = { name, version, bytes: () => bytes, origin: [], ...(named && { endpoints: named }) };
  return { typeUrl, name, resource };
}

function cluster(name: string, connectTimeoutSeconds: number): ResourceChange {
  const bytes = encode('envoy.config.cluster.v3.Cluster', {
    name,
    type: 3,
    connect_timeout: { seconds: connectTimeoutSeconds, nanos: 0 },
    eds_cluster_config: { service_name: `e-${name}`, eds_config: ADS },
  });
  return change(CDS, name, bytes, `e-${name}`);
}

function silentCluster(name: string): ResourceChange {
  const socketAddress = { address: '127.0.0.1', port_value: silentDns.address().port };
  const target = { endpoint: { address: { socket_address: { address: 'slow.example.com', port_value: 80 } } } };
  const bytes = encode('envoy.config.cluster.v3.Cluster', {
    name,
    type: 1,
    typed_dns_resolver_config: {
      name: 'envoy.network.dns_resolver.cares',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig',
        resolvers: [{ socket_address: socketAddress }],
      },
    },
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [target] }] },
  });
  return change(CDS, name, bytes);
}

function endpoints(name: string): ResourceChange {
  const endpoint = { address: { socket_address: { address: '127.0.0.1', port_value: 9 } } };
  const bytes = encode('envoy.config.endpoint.v3.ClusterLoadAssignment', {
    cluster_name: `e-${name}`,
    endpoints: [{ lb_endpoints: [{ endpoint }] }],
  });
  return change(EDS, `e-${name}`, bytes);
}

function routes(...clusters: string[]): ResourceChange {
  const bytes = encode('envoy.config.route.v3.RouteConfiguration', {
    name: 'http',
    virtual_hosts: clusters.map((name) => ({
      name,
      domains: [`${name}.example.com`],
      routes: [{ match: { prefix: '/' }, route: { cluster: name } }],
    })),
  });
  return change(RDS, 'http', bytes);
}

function secret(name: string, chain: string, key: string): ResourceChange {
  const bytes = encode('envoy.extensions.transport_sockets.tls.v3.Secret', {
    name,
    tls_certificate: {
      certificate_chain: { inline_bytes: Buffer.from(chain) },
      private_key: { inline_bytes: Buffer.from(key) },
    },
  });
  return change(SDS, name, bytes);
}

function listener(): ResourceChange {
  return listenerOf('http', 0, [{}]);
}

function tlsListener(port: number, hosts: readonly string[]): ResourceChange {
  const chains = hosts.map((host) => ({
    filter_chain_match: { server_names: [host] },
    transport_socket: {
      name: 'tls',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext',
        common_tls_context: { tls_certificate_sds_secret_configs: [{ name: host, sds_config: ADS }] },
      },
    },
  }));
  const inspector = {
    name: 'tls-inspector',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector',
    },
  };
  return listenerOf('tls', port, chains, { listener_filters: [inspector] });
}

function listenerOf(name: string, port: number, chains: readonly object[], more: object = {}): ResourceChange {
  const bytes = encode('envoy.config.listener.v3.Listener', {
    name,
    ...more,
    address: { socket_address: { address: '127.0.0.1', port_value: port } },
    filter_chains: chains.map((chain) => ({
      ...chain,
      filters: [
        {
          name: 'http',
          typed_config: {
            '@type':
              'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
            stat_prefix: 'http',
            rds: { route_config_name: 'http', config_source: ADS },
            http_filters: [
              {
                name: 'router',
                typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' },
              },
            ],
          },
        },
      ],
    })),
  });
  return change(LDS, name, bytes);
}
