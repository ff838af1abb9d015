/** Configurations of filters come as resources of their own: they change under load, and nothing else does. */
import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { echoPair } from '../../src/cli/generated-certificate.ts';
import { encode } from '../../src/envoy/codec.ts';
import { createEcho, type Echo } from '../../src/files/echo.ts';
import { shortTypeName, typeUrls } from '../../src/xds/resource.ts';
import { ask, startCompressibleBackend } from '../annotations/compressible-backend.ts';
import { annotated } from '../annotations/table.ts';
import type { Backend } from '../support/backend.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { callGrpc, startGrpcBackend } from '../support/grpc-backend.ts';
import { configMap, endpointSlice, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { startProbe } from '../support/probe.ts';
import { soon } from './behaviour/cases.ts';
import { openWebSocket, startUpgradingBackend } from './behaviour/upgrade.ts';

const HOST = 'text.example.com';
const OTHER = 'own.example.com';
const ON = configMap('config', { 'use-gzip': 'true' });
const OFF = configMap('config', {});
const BEST = configMap('config', { 'use-gzip': 'true', 'gzip-level': '9', 'enable-brotli': 'true' });
/** The changes go on until so much was sent, however slow the machine is. */
const MIN_REQUESTS = 1_000;

let text: Backend;
let echo: Echo;
let manifests: readonly Manifest[];
let gateway: Gateway;

beforeAll(async () => {
  text = await startCompressibleBackend('text');
  echo = createEcho(echoPair);
  const [pod] = (await echo.ensure([{ namespace: 'default', service: 'own', port: '80' }])).values();
  manifests = [
    ...[HOST, OTHER].map((host) =>
      ingress({ name: host, rules: [{ host, paths: [{ service: host === HOST ? 'text:80' : 'own:80' }] }] }),
    ),
    ingress({
      name: 'tls',
      rules: [{ host: 'tls.example.com', paths: [{ service: 'text:80' }] }],
      tls: [{ hosts: ['tls.example.com'], secretName: 'tls' }],
    }),
    tlsSecret('tls', await makePair(['tls.example.com'])),
    service('text'),
    text.slice('text'),
    service('own'),
    endpointSlice('own', [pod!.ip], { port: pod!.port }),
  ];
});
afterAll(async () => {
  await text.close();
  await echo.close();
});
afterEach(() => gateway.close());

const start = (...more: readonly Manifest[]) =>
  startGateway({ manifests: [...manifests, ...more], build: { configMap: 'default/config' }, drainTimeS: 5 });

const encodingOf = async () => (await ask(gateway, HOST, { accept: 'gzip' })).encoding;

/** A client with one connection: what it gets, and on which one. */
function createStandingClient(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const sockets = new Set<Socket>();
  return {
    sockets,
    encoding: () =>
      new Promise<string | undefined>((resolve, reject) => {
        const headers = { host: HOST, 'accept-encoding': 'gzip' };
        request({ host: '127.0.0.1', port, headers, agent }, (response) => {
          response.resume().on('end', () => resolve(response.headers['content-encoding']));
        })
          .on('socket', (socket) => sockets.add(socket))
          .on('error', reject)
          .end();
      }),
    close: () => agent.destroy(),
  };
}

function listenerVersions(): readonly unknown[] {
  const view = gateway.pipeline.store.view(typeUrls.listener);
  return [...view.names()].map((name) => [name, view.get(name)?.version]);
}

test('compression is switched under load: one resource is sent, and no connection ends', async () => {
  gateway = await start(OFF);
  const probe = await startProbe({ ...gateway, host: OTHER, rate: 200 });
  const standing = createStandingClient(gateway.httpPort);
  const before = listenerVersions();
  const sentBefore = gateway.events.length;
  let changes = 0;
  for (; changes < 10 || probe.sent() < MIN_REQUESTS; changes++) {
    const config = [ON, BEST, OFF][changes % 3]!;
    await gateway.apply(config);
    await soon(() => standing.encoding()).toBe(config === OFF ? undefined : 'gzip');
  }
  const sent = gateway.events.slice(sentBefore).filter((event) => event.kind === 'response');
  expect(sent.map(({ typeUrl, names }) => `${shortTypeName(typeUrl)} ${names}`)).toEqual(
    Array.from({ length: changes }, () => 'TypedExtensionConfig compression'),
  );
  expect(listenerVersions()).toEqual(before);
  expect(standing.sockets.size).toBe(1);
  standing.close();
  const { failures, closed, requests } = await probe.stop();
  expect({ failures, closed }).toEqual({ failures: [], closed: [] });
  expect(requests).toBeGreaterThanOrEqual(MIN_REQUESTS);
}, 120_000);

test('a new Envoy compresses from its first request on, and WebSockets and gRPC pass it', async () => {
  const [upgrading, grpc] = await Promise.all([startUpgradingBackend(), startGrpcBackend('grpc')]);
  gateway = await start(
    configMap('config', { 'use-gzip': 'true', 'gzip-types': '*', 'gzip-min-length': '0' }),
    ingress({ name: 'ws', rules: [{ host: 'ws.example.com', paths: [{ service: 'ws:80' }] }] }),
    service('ws'),
    upgrading.slice('ws'),
    ingress({
      name: 'grpc',
      annotations: annotated({ 'backend-protocol': 'GRPC' }),
      rules: [{ host: 'grpc.example.com', paths: [{ service: 'grpc:80' }] }],
    }),
    service('grpc'),
    grpc.slice('grpc'),
  );
  expect(await encodingOf()).toBe('gzip');
  const socket = await openWebSocket(gateway.httpPort, 'ws.example.com', 'websocket');
  expect(await socket.exchange('plain')).toBe('plain');
  socket.close();
  const call = await callGrpc({ port: gateway.httpsPort, tls: true, host: 'grpc.example.com', path: '/call' });
  expect(call).toMatchObject({ status: 200, body: 'hello', grpcStatus: '0' });
  await Promise.all([upgrading.close(), grpc.close()]);
});

test('where Envoy refuses a configuration, the former one stays', async () => {
  gateway = await start(ON);
  const bytes = encode('envoy.config.core.v3.TypedExtensionConfig', { name: 'compression', typed_config: ROUTER });
  const resource = { name: 'compression', version: 'refused', bytes: () => bytes, origin: [] };
  gateway.pipeline.store.commit([{ typeUrl: typeUrls.extension, name: 'compression', resource }]);
  await soon(async () => gateway.events.map(({ kind }) => kind)).toContain('nack');
  expect(await encodingOf()).toBe('gzip');
});

/** A filter, but not the one that is asked for. */
const ROUTER = { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' } as const;
