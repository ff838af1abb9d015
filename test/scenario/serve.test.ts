/** The commands `serve` and `bootstrap` as their users see them: processes, sockets, exit codes, a real Envoy. */
import { statSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { echoPair } from '../../src/cli/generated-certificate.ts';
import { createEcho, type Echo } from '../../src/files/echo.ts';
import { DEFAULT_CERTIFICATE } from '../../src/model/proxy-model.ts';
import { type Command, runCommand, startCommand } from '../support/command.ts';
import { type Edge, startEdge } from '../support/edge.ts';
import { poll } from '../support/gateway.ts';
import { type Answer, send } from '../support/http-client.ts';
import { endpointSlice, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { freePorts } from '../support/static-envoy.ts';

// Each test starts several processes.
vi.setConfig({ testTimeout: 180_000 });

const HOST = 'shop.example.com';
/** What Envoy says at its start when connections are not limited. */
const UNLIMITED = 'There is no configured limit to the number of allowed active downstream connections';

let folder: string;
let manifests: string;
let socket: string;
let echo: Echo;
let ports: { readonly http: number; readonly https: number; readonly health: number };
const started: Command[] = [];
const edges: Edge[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'serve-test-'));
  manifests = join(folder, 'manifests');
  socket = join(folder, 'xds.sock');
  await mkdir(manifests);
  echo = createEcho(echoPair);
  const [http = 0, https = 0, health = 0] = await freePorts(3);
  ports = { http, https, health };
  await write('web', await shop());
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
    service('web'),
    endpointSlice('web', [pod!.ip], { port: pod!.port }),
    tlsSecret('default-cert', await makePair([HOST])),
  ];
}

function write(name: string, objects: readonly Manifest[]): Promise<void> {
  return writeFile(join(manifests, `${name}.json`), JSON.stringify({ kind: 'List', apiVersion: 'v1', items: objects }));
}

function serveArguments(...flags: readonly string[]): string[] {
  const { http, https, health } = ports;
  const numbers = ['--http-port', http, '--https-port', https, '--healthz-port', health].map(String);
  const source = ['--manifests', manifests, '--default-ssl-certificate', 'default/default-cert'];
  return ['serve', ...source, ...numbers, '--healthz-host', '127.0.0.1', ...flags];
}

async function startServe(...flags: readonly string[]): Promise<{ command: Command; address: string }> {
  const command = startCommand(serveArguments(...flags));
  started.push(command);
  const [, address = ''] = await command.printed(/serving xDS on (\S+)/);
  return { command, address };
}

async function connectEdge(address: string, change?: (bootstrap: string) => string): Promise<Edge> {
  const edge = await startEdge(address, change);
  edges.push(edge);
  return edge;
}

function get(tls: boolean): Promise<Answer | undefined> {
  return send({ port: tls ? ports.https : ports.http, host: HOST, tls }).catch(() => undefined);
}

async function answers(edge: Edge, tls: boolean): Promise<void> {
  await poll(
    async () => (await get(tls))?.status === 200,
    () => `Envoy does not serve:\n${edge.log()}`,
  );
}

test('an Envoy with the printed bootstrap serves HTTP and HTTPS over a Unix socket', async () => {
  const { address } = await startServe('--xds-address', `unix:${socket}`);
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  const edge = await connectEdge(address);
  await answers(edge, false);
  await answers(edge, true);
  expect(edge.log()).toContain(UNLIMITED);
});

test('a sidecar serves, and takes a limited number of connections', async () => {
  const { address } = await startServe('--xds-address', `unix:${socket}`);
  const edge = await startEdge(address, (bootstrap) => bootstrap, ['--role', 'sidecar']);
  edges.push(edge);
  await answers(edge, false);
  await answers(edge, true);
  // Envoy says so when connections are not limited.
  expect(edge.log()).not.toContain(
    'There is no configured limit to the number of allowed active downstream connections',
  );
});

test.each([
  ['gateway', {}, { id: 'pod-1', xds: { socket_address: { address: '127.0.0.1', port_value: 18000 } } }],
  ['sidecar', { 'node-id': 'x' }, { id: 'x', xds: { pipe: { path: '/run/ingress-xds/xds.sock' } } }],
])('the bootstrap of a %s with defaults', async (role, flags, { id, xds }) => {
  const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
  const command = startCommand(['bootstrap', '--role', role, '--output', 'json', ...args], { POD_NAME: 'pod-1' });
  started.push(command);
  expect(await command.exit).toBe(0);
  const bootstrap: unknown = JSON.parse(command.output());
  const address = { load_assignment: { endpoints: [{ lb_endpoints: [{ endpoint: { address: xds } }] }] } };
  expect(bootstrap).toMatchObject({ node: { id }, static_resources: { clusters: [address] } });
});

test('a sidecar over TCP is refused', async () => {
  const { code, output } = await runCommand(['bootstrap', '--role', 'sidecar', '--xds-address', '127.0.0.1:18000']);
  expect([code, output.trim()]).toEqual([2, expect.stringContaining('--xds-address=unix:PATH')]);
});

test('an Envoy that speaks state of the world converges, and follows changes', async () => {
  const { address } = await startServe('--xds-address', `unix:${socket}`);
  const edge = await connectEdge(address, (bootstrap) => bootstrap.replace('"DELTA_GRPC"', '"GRPC"'));
  await answers(edge, false);
  await answers(edge, true);
  await write('second', [
    ingress({ name: 'second', rules: [{ host: 'b.example.com', paths: [{ service: 'web:80' }] }] }),
  ]);
  await poll(
    async () => (await send({ port: ports.http, host: 'b.example.com' })).status === 200,
    () => `no second host:\n${edge.log()}`,
  );
  expect(edge.log()).not.toMatch(/gRPC config for|rejected|unwatched/);
});

test('over TCP everything but the keys is served and followed, and the log says so', async () => {
  const { command, address } = await startServe('--xds-address', '127.0.0.1:0');
  await command.printed(/WARN: no private keys are sent on 127\.0\.0\.1/);
  const edge = await connectEdge(address);
  await answers(edge, false);
  expect(await get(true)).toBeUndefined();
  await command.printed(/secrets are withheld/);
  await write('second', [
    ingress({ name: 'second', rules: [{ host: 'b.example.com', paths: [{ service: 'web:80' }] }] }),
  ]);
  await poll(
    async () => (await send({ port: ports.http, host: 'b.example.com' })).status === 200,
    () => `no second host:\n${edge.log()}${command.output()}`,
  );
});

test('--xds-insecure sends the keys over TCP, with a warning', async () => {
  const { command, address } = await startServe('--xds-address', '127.0.0.1:0', '--xds-insecure');
  await command.printed(/WARN: private keys are sent unencrypted/);
  await answers(await connectEdge(address), true);
});

test('inspect shows streams and resources, without keys', async () => {
  const debug = join(folder, 'debug.sock');
  const { address } = await startServe('--xds-address', `unix:${socket}`, '--debug-socket', debug);
  expect(statSync(debug).mode & 0o777).toBe(0o600);
  await answers(await connectEdge(address), false);
  const inspect = (...args: readonly string[]) => runCommand(['inspect', ...args, '--debug-socket', debug]);
  const [streams, secret, missing] = await Promise.all([
    inspect('streams'),
    inspect('resources', 'secrets', DEFAULT_CERTIFICATE),
    inspect('resources', 'clusters', 'missing'),
  ]);
  expect(streams.output).toContain('id: edge-1');
  expect(streams.output).toContain('upToDate: true');
  expect(secret.output).toContain('[redacted]');
  expect(secret.output).not.toContain('PRIVATE KEY');
  expect(missing).toMatchObject({
    code: 1,
    output: expect.stringContaining('there is nothing called clusters missing'),
  });
});

test('is healthy without any Envoy, and ends with code 0 on SIGTERM', async () => {
  const { command } = await startServe('--xds-address', `unix:${socket}`);
  expect((await send({ port: ports.health, host: 'x', path: '/healthz' })).status).toBe(200);
  expect((await send({ port: ports.health, host: 'x', path: '/readyz' })).status).toBe(200);
  command.process.kill('SIGTERM');
  expect(await command.exit).toBe(0);
});

test.each([
  ['what is not on loopback', '0.0.0.0:18000', 'not on loopback: without mutual TLS'],
  ['what cannot be bound', 'unix:/no/such/folder/xds.sock', 'cannot listen on'],
])('refuses %s, with code 2', async (_, address, message) => {
  const { code, output } = await runCommand(serveArguments('--xds-address', address));
  expect(output).toContain(message);
  expect(code).toBe(2);
});

test.each([
  [[''], 'bootstrap'],
  [['serve', '--'], '--xds-insecure'],
])('completes %j in a shell', async (words, expected) => {
  const { code, output } = await runCommand(['--get-yargs-completions', 'ingress-xds', ...words]);
  expect(output.split('\n')).toContain(expected);
  expect(code).toBe(0);
});
