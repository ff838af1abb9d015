import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findPortFaults } from './port-check.ts';

const server = createServer();
let taken: number;

beforeAll(async () => {
  server.listen({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  taken = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());

test('a taken port is named, with its flag, once', async () => {
  expect(await findPortFaults([{ port: taken, flag: '--http-port' }])).toEqual([
    `Port ${taken} is already in use on 0.0.0.0: end what listens there, or choose another port with --http-port`,
  ]);
});

test('a free port is no fault, and is free again afterwards', async () => {
  expect(await findPortFaults([{ port: 0, flag: '--http-port' }])).toEqual([]);
  const free = createServer().listen({ host: '127.0.0.1', port: 0 });
  await once(free, 'listening');
  const { port } = free.address() as AddressInfo;
  free.close();
  await once(free, 'close');
  const check = () => findPortFaults([{ port, flag: '--https-port' }]);
  expect(await check()).toEqual([]);
  expect(await check()).toEqual([]);
});

test('an address that this machine does not have is a fault', async () => {
  const faults = await findPortFaults([{ port: 0, flag: '--http-port' }], ['192.0.2.1']);
  expect(faults).toEqual(['Cannot listen on 192.0.2.1, port 0 (EADDRNOTAVAIL)']);
});
