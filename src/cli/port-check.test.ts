import { createSocket } from 'node:dgram';
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
  expect(faults).toEqual(['Port 0 cannot be opened on 192.0.2.1 (EADDRNOTAVAIL)']);
});

test('a port that is taken over UDP alone is a fault where UDP is wanted', async () => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  const check = (protocol?: 'udp') =>
    findPortFaults([{ port, flag: '--https-port', ...(protocol && { protocol }) }], ['127.0.0.1', '::1']);
  expect(await check('udp')).toEqual([
    `UDP port ${port} is already in use on 127.0.0.1: end what listens there, or choose another port with --https-port`,
  ]);
  expect(await check()).toEqual([]);
  socket.close();
  await once(socket, 'close');
  expect(await check('udp')).toEqual([]);
  expect(await findPortFaults([{ port, flag: '--https-port', protocol: 'udp' }])).toEqual([]);
});
