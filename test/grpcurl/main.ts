/**
 * `npm run test:grpcurl`: what an operator does with the real grpcurl, which knows nothing of Envoy's schema. Needs Go, which
 * builds it in the cache folder; so it has a command of its own.
 */
import { deepStrictEqual, match, ok, rejects } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { type Command, startCommand } from '../support/command.ts';

const VERSION = 'v1.9.3';
const ADS = 'envoy.service.discovery.v3.AggregatedDiscoveryService';
const MANIFESTS = join(import.meta.dirname, '../../examples/quickstart');

const run = promisify(execFile);
let command: Command;
let grpcurl: string;
let address: string;

before(async () => {
  grpcurl = await buildGrpcurl();
  const ports = ['--http-port', '8080', '--https-port', '8443', '--healthz-port', '0', '--healthz-host', '127.0.0.1'];
  command = startCommand(['serve', '--manifests', MANIFESTS, '--xds-address', '127.0.0.1:0', ...ports]);
  [, address = ''] = await command.printed(/serving xDS on (\S+)/);
});
after(() => command.kill());

async function buildGrpcurl(): Promise<string> {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const folder = join(cache, 'ingress-xds', `grpcurl-${VERSION}`);
  const path = join(folder, 'grpcurl');
  if (!existsSync(path)) {
    const source = `github.com/fullstorydev/grpcurl/cmd/grpcurl@${VERSION}`;
    await run('go', ['install', source], { env: { ...process.env, GOBIN: folder, GOFLAGS: '-mod=mod' } });
  }
  return path;
}

async function call(...args: readonly string[]): Promise<string> {
  const { stdout } = await run(grpcurl, ['-plaintext', ...args], { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

/** One request with a node written by hand; the responses, decoded by what reflection says. */
function discover(type: string, method = `${ADS}/StreamAggregatedResources`): Promise<string> {
  const request = { node: { id: 'operator' }, type_url: `type.googleapis.com/${type}`, resource_names: ['*'] };
  return call('-d', JSON.stringify(request), address, method);
}

test('list', async () => {
  const services = (await call(address, 'list')).trim().split('\n');
  for (const service of [ADS, 'envoy.service.route.v3.RouteDiscoveryService', 'grpc.reflection.v1.ServerReflection']) {
    ok(services.includes(service), service);
  }
});

test('describe', async () => {
  match(await call(address, 'describe', ADS), /rpc StreamAggregatedResources/);
  match(await call(address, 'describe', 'envoy.config.route.v3.RouteConfiguration'), /VirtualHost virtual_hosts/);
});

test('every service can be described', async () => {
  match(await call(address, 'describe'), /service AggregatedDiscoveryService/);
});

test('listeners, decoded to the filters in them', async () => {
  const { resources } = JSON.parse(await discover('envoy.config.listener.v3.Listener'));
  const names = resources.map(({ name }: { name: string }) => name);
  deepStrictEqual(names.toSorted(), ['http', 'https']);
  match(JSON.stringify(resources), /"routeConfigName":"http"/);
});

test('route configurations, with the hosts of the manifests', async () => {
  const { resources } = JSON.parse(await discover('envoy.config.route.v3.RouteConfiguration'));
  match(JSON.stringify(resources), /shop\.example\.com/);
});

test('a service of one type', async () => {
  const method = 'envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters';
  match(await discover('envoy.config.cluster.v3.Cluster', method), /edsClusterConfig/);
});

test('secrets are refused, with the reason', async () => {
  const message = /PermissionDenied[\s\S]*secrets are served over Unix sockets and mutual TLS only/;
  const type = 'envoy.extensions.transport_sockets.tls.v3.Secret';
  await rejects(discover(type), ({ stderr }: { stderr: string }) => message.test(stderr));
  const method = 'envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets';
  await rejects(discover(type, method), ({ stderr }: { stderr: string }) => message.test(stderr));
});
