/** The gRPC server over mutual TLS, with real clients: who is let in, what they get, and certificates that change. */
import { once } from 'node:events';
import { connect as netConnect } from 'node:net';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import {
  type ClientDuplexStream,
  Client as GrpcClient,
  credentials as grpcCredentials,
  type StatusObject,
} from '@grpc/grpc-js';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { issueLeaf, type KeyPair, makeAuthority } from '../../src/cli/certificate-authority.ts';
import type { ClientRule } from '../../src/xds/clients.ts';
import type { XdsEvent } from '../../src/xds/observer.ts';
import { reflectionPath, reflectionServices } from '../../src/xds/reflection.ts';
import { EVERY_NAMESPACE } from '../../src/xds/resource.ts';
import { createXdsServer, type XdsServer } from '../../src/xds/server.ts';
import { SnapshotStore } from '../../src/xds/store.ts';
import type { TlsCredentials } from '../../src/xds/tls-listener.ts';
import { CDS, decodeResponse, encodeRequest, put, type Received, resource, SDS } from './support.ts';

const METHOD = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';
const DEADLINE = { timeout: 10_000 };

let authority: KeyPair;
let other: KeyPair;
let serverPair: KeyPair;
let edge: KeyPair;

beforeAll(async () => {
  authority = await makeAuthority();
  other = await makeAuthority();
  serverPair = await issueLeaf(authority, { names: ['xds.example.com'], usage: 'server', days: 1 });
  edge = await client('edge');
});

function client(name: string, from = authority, days = 1): Promise<KeyPair> {
  return issueLeaf(from, { names: [name], usage: 'client', days });
}

let current: TlsCredentials;
let renew: (credentials: Partial<TlsCredentials>) => void;
let store: SnapshotStore;
let events: XdsEvent[];
let server: XdsServer;
let address: string;
const clients: GrpcClient[] = [];

async function start(rules: readonly ClientRule[]): Promise<void> {
  const listeners = new Set<(credentials: TlsCredentials) => void>();
  current = {
    certificate: Buffer.from(serverPair.certificate),
    key: Buffer.from(serverPair.key),
    ca: [authority.certificate],
  };
  renew = (changed) => {
    current = { ...current, ...changed };
    for (const listener of listeners) listener(current);
  };
  const source = {
    get current() {
      return current;
    },
    subscribe: (listener: (credentials: TlsCredentials) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const seen: XdsEvent[] = [];
  events = seen;
  server = createXdsServer({
    store,
    observe: (event) => seen.push(event),
    mutualTls: { credentials: source, clients: rules },
    descriptors: () => new Uint8Array(),
  });
  address = await server.listen('127.0.0.1:0');
}

beforeEach(() => {
  store = new SnapshotStore();
});
afterEach(async () => {
  for (const each of clients.splice(0)) each.close();
  await server.close({ graceMs: 0 });
});

interface Connection {
  readonly call: ClientDuplexStream<Buffer, Buffer>;
  send(request: Record<string, unknown>): void;
  next(): Promise<Received>;
  readonly status: Promise<StatusObject>;
}

/** @param pair `undefined` shows no certificate, `'plain'` does not even encrypt. */
function connect(
  pair: KeyPair | undefined | 'plain',
  { path = METHOD, ca = authority, acknowledges = true } = {},
): Connection {
  const root = Buffer.from(ca.certificate);
  const security =
    pair === 'plain'
      ? grpcCredentials.createInsecure()
      : grpcCredentials.createSsl(
          root,
          ...(pair ? ([Buffer.from(pair.key), Buffer.from(pair.certificate)] as const) : []),
        );
  const grpc = new GrpcClient(address, security, {
    'grpc.ssl_target_name_override': 'xds.example.com',
    'grpc.use_local_subchannel_pool': 1,
  });
  clients.push(grpc);
  const same = (bytes: Buffer) => bytes;
  const call = grpc.makeBidiStreamRequest(path, same, same);
  const arrived: Received[] = [];
  const waiting: ((response: Received) => void)[] = [];
  call.on('data', (bytes: Buffer) => {
    const response = decodeResponse(bytes);
    if (acknowledges) call.write(encodeRequest({ typeUrl: response.typeUrl, responseNonce: response.nonce }));
    const waiter = waiting.shift();
    if (waiter === undefined) arrived.push(response);
    else waiter(response);
  });
  call.on('error', () => {});
  return {
    call,
    status: new Promise<StatusObject>((resolve) => call.on('status', resolve)),
    send: (request) => void call.write(encodeRequest(request)),
    next: () => {
      const response = arrived.shift();
      return response ? Promise.resolve(response) : new Promise((resolve) => waiting.push(resolve));
    },
  };
}

function refusals(): string[] {
  return events.flatMap((event) => (event.kind === 'refused' ? [event.reason] : []));
}

test('a client on the list gets everything, keys too', async () => {
  await start([{ name: 'edge' }]);
  store.commit([...put(CDS, 'a'), ...put(SDS, 's')]);
  const { send, next } = connect(edge);
  send({ node: { id: 'a' }, typeUrl: CDS });
  expect((await next()).resources.map(({ name }) => name)).toEqual(['a']);
  send({ typeUrl: SDS, resourceNamesSubscribe: ['s'] });
  expect((await next()).resources.map(({ body }) => body)).toEqual(['s@1']);
  expect(server.streams()[0]?.describe().client).toBe('edge');
});

test('a client that is not on the list is refused by name, whatever it asks for', async () => {
  await start([{ name: 'edge' }]);
  store.commit(put(CDS, 'a'));
  const stranger = await client('stranger');
  const { send, status } = connect(stranger);
  send({ node: { id: 'edge' }, typeUrl: CDS });
  const expected = { code: 7, details: expect.stringContaining('called stranger is not one of those') };
  expect(await status).toMatchObject(expected);
  expect(events.find(({ kind }) => kind === 'closed')).toMatchObject({
    status: { code: 7, message: expect.stringContaining('stranger') },
  });
  for (const service of reflectionServices) {
    expect(await connect(stranger, { path: reflectionPath(service) }).status).toMatchObject(expected);
  }
  expect(server.streams()).toEqual([]);
});

test.each([
  ['without a certificate', () => undefined, 'it shows no certificate'],
  [
    'that another authority has signed',
    () => client('edge', other),
    'its certificate is not trusted: UNABLE_TO_VERIFY_LEAF_SIGNATURE (it claims to be "CN=edge")',
  ],
  [
    'whose certificate has expired',
    () => client('edge', authority, -1 / 24 / 60),
    'its certificate has expired (it claims to be "CN=edge")',
  ],
  [
    'that shows the certificate of a server',
    () => serverPair,
    'its certificate is not trusted: INVALID_PURPOSE (it claims to be "CN=xds.example.com")',
  ],
  ['that does not encrypt', () => 'plain' as const, 'it does not speak TLS'],
])('a client %s gets no connection', async (_, pair, reason) => {
  await start([{ name: 'edge' }, { name: '*' }]);
  store.commit(put(CDS, 'a'));
  const { send, status } = connect(await pair());
  send({ node: { id: 'a' }, typeUrl: CDS });
  expect((await status).code).toBe(14);
  await expect.poll(() => refusals()[0], DEADLINE).toBe(reason);
  expect(server.streams()).toEqual([]);
});

test.each([
  ['an old version of TLS', { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }],
  ['another protocol than HTTP/2', { ALPNProtocols: ['http/1.1'] }],
  ['no protocol at all', { ALPNProtocols: [] }],
] as const)('%s is refused', async (_, options) => {
  await start([{ name: 'edge' }]);
  await expect(handshake(edge, options)).rejects.toThrow();
  await expect.poll(refusals, DEADLINE).toHaveLength(1);
});

test('a health check that only connects is no refusal', async () => {
  await start([{ name: 'edge' }]);
  const socket = netConnect(Number(address.split(':')[1]), '127.0.0.1');
  await once(socket, 'connect');
  socket.resetAndDestroy();
  store.commit(put(CDS, 'a'));
  const { send, next } = connect(edge);
  send({ node: { id: 'a' }, typeUrl: CDS });
  await next();
  expect(refusals()).toEqual([]);
});

/** Resolves with the connection after the server has let it in. */
async function handshake(pair: KeyPair, options: object = {}): Promise<TLSSocket> {
  const socket = tlsConnect({
    port: Number(address.split(':')[1]),
    host: '127.0.0.1',
    servername: 'xds.example.com',
    ca: authority.certificate,
    cert: pair.certificate,
    key: pair.key,
    ALPNProtocols: ['h2'],
    ...options,
  });
  // The settings of HTTP/2 are the first that a server says.
  await new Promise<void>((resolve, reject) => {
    socket.once('data', () => resolve());
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('closed')));
  });
  return socket;
}

test('a session is not resumed: the certificate is looked at each time', async () => {
  await start([{ name: 'edge' }]);
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const only = { minVersion: version, maxVersion: version };
    const first = await handshake(edge, only);
    const session = first.getSession();
    first.destroy();
    const second = await handshake(edge, { ...only, session });
    expect([second.getProtocol(), second.isSessionReused()]).toEqual([version, false]);
    second.destroy();
  }
});

function secret(name: string, namespace?: string) {
  return { typeUrl: SDS, name, resource: resource(name, '1', namespace === undefined ? {} : { namespace }) };
}

test('a client of one namespace gets its keys and those of everybody, no others', async () => {
  await start([{ name: 'edge', namespaces: ['shop'] }]);
  store.commit([
    ...put(CDS, 'a'),
    secret('shop/tls', 'shop'),
    secret('blog/tls', 'blog'),
    secret('blog/more', 'blog'),
    secret('default', EVERY_NAMESPACE),
    secret('unknown'),
  ]);
  const { send, next } = connect(edge);
  send({ node: { id: 'a' }, typeUrl: CDS });
  expect((await next()).resources).toHaveLength(1);
  const names = ['shop/tls', 'blog/tls', 'blog/more', 'default', 'unknown', 'missing'];
  send({ typeUrl: SDS, resourceNamesSubscribe: names });
  const { resources, removed } = await next();
  expect(resources.map(({ name }) => name)).toEqual(['shop/tls', 'default']);
  expect(removed).toEqual(['blog/tls', 'blog/more', 'unknown', 'missing']);
  const withheld = events.filter(({ kind }) => kind === 'withheldNamespace');
  expect(withheld).toEqual([
    { kind: 'withheldNamespace', stream: 1, client: 'edge', namespace: 'blog' },
    { kind: 'withheldNamespace', stream: 1, client: 'edge' },
  ]);
});

test('a name whose key moves to a namespace of others is gone for the client, and comes back with it', async () => {
  await start([{ name: 'edge', namespaces: ['shop'] }]);
  const move = (namespace: string, version: string) =>
    store.commit([{ typeUrl: SDS, name: 'a.example', resource: resource('a.example', version, { namespace }) }]);
  move('shop', '1');
  const { send, next } = connect(edge);
  send({ node: { id: 'a' }, typeUrl: SDS, resourceNamesSubscribe: ['a.example'] });
  expect((await next()).resources).toHaveLength(1);
  move('blog', '2');
  expect(await next()).toMatchObject({ resources: [], removed: ['a.example'] });
  move('shop', '3');
  expect((await next()).resources.map(({ body }) => body)).toEqual(['a.example@3']);
});

test('a wildcard holds the keys of the client only, in any spelling', async () => {
  await start([{ name: 'edge', namespaces: ['shop'] }]);
  const spelled = (name: string, namespace: string) => ({
    typeUrl: SDS,
    name,
    resource: resource(name, '1', { namespace, bytesAs: (text) => Buffer.from(text) }),
  });
  store.commit([spelled('a.example', 'shop'), spelled('b.example', 'blog')]);
  const { send, next } = connect(edge);
  send({ node: { id: 'a' }, typeUrl: SDS, resourceNamesSubscribe: ['*'] });
  expect((await next()).resources.map(({ name }) => name)).toEqual(['a.example']);
  send({ typeUrl: SDS, resourceNamesSubscribe: ['A.example', 'B.example'] });
  const { resources, removed } = await next();
  expect([resources.map(({ name }) => name), removed]).toEqual([['A.example'], ['B.example']]);
});

test('another certificate of the server is for new connections; those that are there stay', async () => {
  await start([{ name: 'edge' }]);
  store.commit(put(CDS, 'a'));
  const old = connect(edge);
  old.send({ node: { id: 'a' }, typeUrl: CDS });
  await old.next();
  const renewed = await issueLeaf(other, { names: ['xds.example.com'], usage: 'server', days: 1 });
  renew({
    certificate: Buffer.from(renewed.certificate),
    key: Buffer.from(renewed.key),
    ca: [other.certificate, authority.certificate],
  });
  const fresh = connect(await client('edge', other), { ca: other });
  fresh.send({ node: { id: 'b' }, typeUrl: CDS });
  expect((await fresh.next()).resources).toHaveLength(1);
  store.commit(put(CDS, 'b'));
  expect((await old.next()).resources.map(({ name }) => name)).toEqual(['b']);
  expect(server.streams()).toHaveLength(2);
});

test('connections of an authority that is no longer trusted end, and no others', async () => {
  await start([{ name: 'edge' }]);
  store.commit(put(CDS, 'a'));
  renew({ ca: [authority.certificate, other.certificate] });
  const kept = connect(edge);
  const lost = connect(await client('edge', other));
  for (const { send, next } of [kept, lost]) {
    send({ node: { id: 'a' }, typeUrl: CDS });
    await next();
  }
  renew({ ca: [authority.certificate] });
  expect((await lost.status).code).toBe(14);
  await expect.poll(() => server.streams().length, DEADLINE).toBe(1);
  store.commit(put(CDS, 'b'));
  expect((await kept.next()).resources.map(({ name }) => name)).toEqual(['b']);
});

test('a connection ends when the certificate of its client expires', async () => {
  await start([{ name: 'edge' }]);
  store.commit(put(CDS, 'a'));
  const { send, next, status } = connect(await client('edge', authority, 3 / 24 / 3600));
  send({ node: { id: 'a' }, typeUrl: CDS });
  await next();
  expect((await status).code).toBe(14);
  await expect.poll(() => server.streams(), DEADLINE).toEqual([]);
});

test('off loopback it listens, and an address that is taken is an error', async () => {
  await start([{ name: 'edge' }]);
  expect(await server.listen('0.0.0.0:0')).toMatch(/^0\.0\.0\.0:\d+$/);
  await expect(server.listen(address)).rejects.toThrow(`cannot listen on ${address}`);
});

test('closing waits for replies under way, then ends streams as unavailable', async () => {
  await start([{ name: 'edge' }]);
  store.commit(put(CDS, 'a'));
  const { send, next, status } = connect(edge, { acknowledges: false });
  send({ node: { id: 'a' }, typeUrl: CDS });
  const { nonce } = await next();
  const closed = server.close({ graceMs: 20_000 });
  send({ typeUrl: CDS, responseNonce: nonce });
  expect(await status).toMatchObject({ code: 14 });
  await closed;
});
