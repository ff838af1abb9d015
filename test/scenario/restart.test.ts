/** A control plane that dies fails no request, and one that comes back sends nothing that the proxy has. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { echoPair } from '../../src/cli/generated-certificate.ts';
import { createEcho, type Echo } from '../../src/files/echo.ts';
import { type Command, startCommand } from '../support/command.ts';
import { callOnce } from '../support/discovery-client.ts';
import { type Edge, startEdge } from '../support/edge.ts';
import { poll } from '../support/gateway.ts';
import { send } from '../support/http-client.ts';
import { endpointSlice, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { type Probe, startProbe } from '../support/probe.ts';
import { childrenOf, isAlive } from '../support/process/processes.ts';
import { freePorts } from '../support/static-envoy.ts';
import { encodeRequest } from '../xds/support.ts';

// Each test starts several processes, some of them twice.
vi.setConfig({ testTimeout: 240_000 });

const HOST = 'shop.example.com';
const RATE = 200;
/** How much the probe sends before, between and after: enough to meet a gap. */
const REQUESTS_PER_PHASE = 200;

let folder: string;
let manifests: string;
let socket: string;
let echo: Echo;
let ports: { readonly http: number; readonly https: number; readonly health: number };
const started: Command[] = [];
const edges: Edge[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'restart-test-'));
  manifests = join(folder, 'manifests');
  socket = join(folder, 'xds.sock');
  await mkdir(manifests);
  echo = createEcho(echoPair);
  const [http = 0, https = 0, health = 0] = await freePorts(3);
  ports = { http, https, health };
  const objects = await shop();
  await writeFile(join(manifests, 'all.json'), JSON.stringify({ kind: 'List', apiVersion: 'v1', items: objects }));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((command) => command.kill()));
  await Promise.all(edges.splice(0).map((edge) => edge.stop()));
  await echo.close();
  await rm(folder, { recursive: true, force: true });
});

async function shop(): Promise<Manifest[]> {
  const [pod] = (await echo.ensure([{ namespace: 'default', service: 'web', port: '80' }])).values();
  return [
    ingress({ name: 'web', rules: [{ host: HOST, paths: [{ service: 'web:80' }] }] }),
    ingress({
      name: 'tls',
      rules: [{ host: 'tls.example.com', paths: [{ service: 'web:80' }] }],
      tls: [{ hosts: ['tls.example.com'], secretName: 'tls' }],
    }),
    service('web'),
    endpointSlice('web', [pod!.ip], { port: pod!.port }),
    tlsSecret('tls', await makePair(['tls.example.com'])),
    tlsSecret('default-cert', await makePair(['default.example.com'])),
  ];
}

function start(command: string, ...flags: readonly string[]): Command {
  const numbers = ['--http-port', ports.http, '--https-port', ports.https].map(String);
  const source = ['--manifests', manifests, '--default-ssl-certificate', 'default/default-cert'];
  const running = startCommand([command, ...source, ...numbers, '--healthz-host', '127.0.0.1', ...flags]);
  started.push(running);
  return running;
}

async function serve(path: string, healthPort: number): Promise<Command> {
  const command = start('serve', '--xds-address', `unix:${path}`, '--healthz-port', String(healthPort));
  await command.printed(/serving xDS on/);
  return command;
}

async function answered(): Promise<void> {
  await poll(
    async () => (await send({ port: ports.http, host: HOST }).catch(() => undefined))?.status === 200,
    () => `nothing is served:\n${edges.map((edge) => edge.log()).join('\n')}${started[0]?.output()}`,
  );
}

function probe(): Promise<Probe> {
  return startProbe({ httpPort: ports.http, httpsPort: ports.https, host: HOST, rate: RATE });
}

async function moreRequests(running: Probe): Promise<void> {
  const target = running.sent() + REQUESTS_PER_PHASE;
  await poll(
    () => running.sent() >= target,
    () => 'the probe does not send',
  );
}

/** Values of a metric, by the label `type`. Empty when nobody answers. */
async function metric(name: string): Promise<Map<string, number>> {
  const answer = await send({ port: ports.health, host: 'x', path: '/metrics' }).catch(() => undefined);
  const lines = (answer?.body ?? '').matchAll(new RegExp(`^ingress_xds_${name}\\{type="(\\w+)"\\} (\\d+)$`, 'gm'));
  return new Map([...lines].map(([, type = '', value]) => [type, Number(value)]));
}

/** Envoy has answered the first responses of the new control plane, which end the comparison of versions. */
async function cameBack(): Promise<void> {
  await poll(
    async () => {
      const acks = await metric('acks_total');
      return (acks.get('Cluster') ?? 0) > 0 && (acks.get('Listener') ?? 0) > 0;
    },
    () => 'the proxy did not come back',
  );
}

async function expectNothingSent(): Promise<void> {
  expect([...(await metric('resources_sent_total')).entries()].filter(([, count]) => count > 0)).toEqual([]);
  expect([...(await metric('removals_sent_total')).entries()].filter(([, count]) => count > 0)).toEqual([]);
}

async function expectNoLoss(running: Probe): Promise<void> {
  const { failures, closed, requests } = await running.stop();
  expect({ failures, closed }).toEqual({ failures: [], closed: [] });
  expect(requests).toBeGreaterThan(2 * REQUESTS_PER_PHASE);
}

test('serve is killed and started again', async () => {
  const first = await serve(socket, ports.health);
  edges.push(await startEdge(`unix:${socket}`));
  await answered();
  const running = await probe();
  await moreRequests(running);
  await first.kill();
  await moreRequests(running);
  await serve(socket, ports.health);
  await cameBack();
  await moreRequests(running);
  await expectNothingSent();
  await expectNoLoss(running);
});

test('the control plane of run is killed, and run starts it again', async () => {
  const command = start('run', '--healthz-port', String(ports.health), '--envoy-concurrency', '1');
  await command.printed(/serving HTTP on port/);
  const running = await probe();
  await moreRequests(running);
  const controlPlane = () => childrenOf(command.pid).find((child) => child.command.includes('control-plane'))?.pid;
  const first = controlPlane()!;
  process.kill(first, 'SIGKILL');
  await poll(
    () => !isAlive(first),
    () => 'the control plane does not die',
  );
  await moreRequests(running);
  await cameBack();
  expect(controlPlane()).not.toBe(first);
  await moreRequests(running);
  await expectNothingSent();
  await expectNoLoss(running);
});

test('two control planes with the same manifests send the same bytes', async () => {
  const other = join(folder, 'other.sock');
  await Promise.all([serve(socket, 0), serve(other, 0)]);
  for (const path of [
    'envoy.service.cluster.v3.ClusterDiscoveryService/DeltaClusters',
    'envoy.service.endpoint.v3.EndpointDiscoveryService/DeltaEndpoints',
    'envoy.service.extension.v3.ExtensionConfigDiscoveryService/DeltaExtensionConfigs',
    'envoy.service.listener.v3.ListenerDiscoveryService/DeltaListeners',
    'envoy.service.route.v3.RouteDiscoveryService/DeltaRoutes',
    'envoy.service.secret.v3.SecretDiscoveryService/DeltaSecrets',
  ]) {
    const request = encodeRequest({ node: { id: 'a' }, resourceNamesSubscribe: ['*'] });
    const [one, two] = await Promise.all(
      [socket, other].map((address) => callOnce(`unix:${address}`, `/${path}`, request)),
    );
    expect(one?.length).toBe(1);
    expect(one?.[0]?.length).toBeGreaterThan(100);
    expect(one).toEqual(two);
  }
});
