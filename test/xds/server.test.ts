/** The gRPC server with a real client: over a Unix socket and over loopback. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClientDuplexStream, credentials, Client as GrpcClient, type StatusObject } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createXdsCounters } from '../../src/xds/observer.ts';
import { createXdsServer, type XdsServer } from '../../src/xds/server.ts';
import { SnapshotStore } from '../../src/xds/store.ts';
import { CDS, decodeResponse, encodeRequest, put, type Received, SDS } from './support.ts';

const METHOD = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';

let folder: string;
let store: SnapshotStore;
let server: XdsServer;
let counters: ReturnType<typeof createXdsCounters>;
const clients: GrpcClient[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'xds-'));
  counters = createXdsCounters();
  store = new SnapshotStore(counters.observe);
  server = createXdsServer({ store, observe: counters.observe });
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server.close({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

interface Connection {
  readonly call: ClientDuplexStream<Buffer, Buffer>;
  send(request: Record<string, unknown>): void;
  next(): Promise<Received>;
  readonly status: Promise<StatusObject>;
}

function connect(address: string): Connection {
  const client = new GrpcClient(address, credentials.createInsecure());
  clients.push(client);
  const same = (bytes: Buffer) => bytes;
  const call = client.makeBidiStreamRequest(METHOD, same, same);
  const arrived: Received[] = [];
  const waiting: ((response: Received) => void)[] = [];
  call.on('data', (bytes: Buffer) => {
    const response = decodeResponse(bytes);
    const waiter = waiting.shift();
    if (waiter === undefined) arrived.push(response);
    else waiter(response);
  });
  call.on('error', () => {});
  const status = new Promise<StatusObject>((resolve) => call.on('status', resolve));
  return {
    call,
    status,
    send: (request) => void call.write(encodeRequest(request)),
    next: () => {
      const response = arrived.shift();
      return response ? Promise.resolve(response) : new Promise((resolve) => waiting.push(resolve));
    },
  };
}

test('serves what is committed over a Unix socket that only its owner may use', async () => {
  const path = join(folder, 'xds.sock');
  expect(await server.listen(`unix:${path}`)).toBe(`unix:${path}`);
  expect(statSync(path).mode & 0o777).toBe(0o600);

  const { send, next } = connect(`unix:${path}`);
  send({ node: { id: 'a' }, typeUrl: CDS });
  store.commit(put(CDS, 'a', 'b'));
  const first = await next();
  expect(first).toMatchObject({ typeUrl: CDS, systemVersion: store.systemVersion(CDS), removed: [] });
  expect(first.resources.map(({ body }) => body)).toEqual(['a@1', 'b@1']);

  send({ typeUrl: CDS, responseNonce: first.nonce });
  store.commit(put(CDS, 'b@2'));
  expect((await next()).resources).toMatchObject([{ name: 'b', version: '2', body: 'b@2' }]);
  expect(counters.counters).toMatchObject({ streams: 1, responses: 2, resources: 3, acks: 1, nacks: 0, encodes: 3 });
});

test('serves secrets over a Unix socket', async () => {
  store.commit(put(SDS, 's'));
  const { send, next } = connect(await server.listen(`unix:${join(folder, 'xds.sock')}`));
  send({ node: { id: 'a' }, typeUrl: SDS, resourceNamesSubscribe: ['s'] });
  expect((await next()).resources.map(({ name }) => name)).toEqual(['s']);
});

test('withholds secrets over loopback TCP, and serves everything else there', async () => {
  store.commit([...put(SDS, 's'), ...put(CDS, 'a')]);
  const address = await server.listen('127.0.0.1:0');
  const { send, next } = connect(address);
  send({ node: { id: 'a' }, typeUrl: CDS });
  expect((await next()).resources.map(({ name }) => name)).toEqual(['a']);
  send({ typeUrl: SDS, resourceNamesSubscribe: ['s'] });
  expect(await next()).toMatchObject({ resources: [], removed: ['s'] });
});

test('refuses who asks for nothing but secrets over loopback TCP', async () => {
  store.commit(put(SDS, 's'));
  const { send, status } = connect(await server.listen('127.0.0.1:0'));
  send({ node: { id: 'a' }, typeUrl: SDS, resourceNamesSubscribe: ['s'] });
  expect(await status).toMatchObject({ code: 7, details: expect.stringContaining('Unix sockets and mutual TLS only') });
});

test.each([
  ['0.0.0.0:0', 'not on loopback'],
  ['10.0.0.1:18000', 'not on loopback'],
  ['18000', 'neither'],
  ['127.0.0.1:http', 'neither'],
])('does not listen on %s', async (address, reason) => {
  await expect(server.listen(address)).rejects.toThrow(reason);
});

test('replaces a socket that a dead process left behind, but no file and no living server', async () => {
  const path = join(folder, 'xds.sock');
  writeFileSync(path, '');
  await expect(server.listen(`unix:${path}`)).rejects.toThrow('exists and is not a socket');
  rmSync(path);

  const living = createServer().listen(path);
  await new Promise((resolve) => living.once('listening', resolve));
  await expect(server.listen(`unix:${path}`)).rejects.toThrow('in use');
  await new Promise((resolve) => living.close(resolve));

  const first = createXdsServer({ store });
  await first.listen(`unix:${path}`);
  await expect(server.listen(`unix:${path}`)).rejects.toThrow('in use');
  await first.close({ graceMs: 0 });
  expect(await server.listen(`unix:${path}`)).toBe(`unix:${path}`);
});

test('a client that goes away is forgotten', async () => {
  store.commit(put(CDS, 'a'));
  const connection = connect(await server.listen('127.0.0.1:0'));
  connection.send({ node: { id: 'a' }, typeUrl: CDS });
  await connection.next();
  expect(server.streams()).toHaveLength(1);
  connection.call.cancel();
  await expect.poll(() => server.streams().length).toBe(0);
  expect(counters.counters.streams).toBe(0);
});

test('a client that ends its side gets an orderly end', async () => {
  store.commit(put(CDS, 'a'));
  const connection = connect(await server.listen('127.0.0.1:0'));
  connection.send({ node: { id: 'a' }, typeUrl: CDS });
  await connection.next();
  connection.call.end();
  expect((await connection.status).code).toBe(0);
});

test('a message that cannot be decoded ends its stream only', async () => {
  store.commit(put(CDS, 'a'));
  const address = await server.listen('127.0.0.1:0');
  const broken = connect(address);
  const healthy = connect(address);
  broken.call.write(Buffer.from([0x12, 0x7f]));
  expect(await broken.status).toMatchObject({ code: 3 });
  healthy.send({ node: { id: 'a' }, typeUrl: CDS });
  expect((await healthy.next()).resources).toHaveLength(1);
});

test('an old Envoy is told why it is refused', async () => {
  const { send, status } = connect(await server.listen('127.0.0.1:0'));
  const userAgentBuildVersion = { version: { majorNumber: 1, minorNumber: 38, patch: 1 } };
  send({ node: { id: 'gateway-1', userAgentName: 'envoy', userAgentBuildVersion }, typeUrl: CDS });
  expect(await status).toMatchObject({ code: 9, details: expect.stringContaining('gateway-1 runs 1.38.1') });
});

test('closing waits for replies under way, then ends streams as unavailable', async () => {
  store.commit(put(CDS, 'a'));
  const { send, next, status } = connect(await server.listen('127.0.0.1:0'));
  send({ node: { id: 'a' }, typeUrl: CDS });
  const { nonce } = await next();
  const closed = server.close({ graceMs: 20_000 });
  send({ typeUrl: CDS, responseNonce: nonce });
  expect(await status).toMatchObject({ code: 14 });
  await closed;
  expect(counters.counters).toMatchObject({ acks: 1, streams: 0 });
});

test('closing does not wait for a silent client longer than the grace', async () => {
  store.commit(put(CDS, 'a'));
  const { send, next, status } = connect(await server.listen('127.0.0.1:0'));
  send({ node: { id: 'a' }, typeUrl: CDS });
  await next();
  await server.close({ graceMs: 10 });
  expect((await status).code).not.toBe(0);
});

test('large snapshots arrive whole, in pieces', async () => {
  const large = Buffer.alloc(200_000, 'x');
  const names = Array.from({ length: 20 }, (_, index) => `c${index}`);
  store.commit(
    names.map((name) => ({
      typeUrl: CDS,
      name,
      resource: { name, version: '1', bytes: () => large, origin: [] },
    })),
  );
  const { send, next } = connect(await server.listen(`unix:${join(folder, 'xds.sock')}`));
  send({ node: { id: 'a' }, typeUrl: CDS });
  const arrived: string[] = [];
  while (arrived.length < names.length) {
    const { resources, nonce } = await next();
    expect(resources.length).toBe(2);
    arrived.push(...resources.map(({ name }) => name));
    send({ typeUrl: CDS, responseNonce: nonce });
  }
  expect(arrived).toEqual(names);
});
