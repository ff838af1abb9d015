/** What a client may not do with a list of addresses that it makes up, where such lists are believed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { annotated } from '../../annotations/table.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { send } from '../../support/http-client.ts';
import { configMap, ingress } from '../../support/manifests.ts';
import { type Services, startServices } from './cases.ts';

let gateway: Gateway;
let services: Services;

beforeAll(async () => {
  services = await startServices('web');
  gateway = await startGateway({
    build: { configMap: 'default/config' },
    manifests: [
      ...services.manifests,
      configMap('config', { 'use-forwarded-headers': 'true', 'proxy-real-ip-cidr': '127.0.0.0/8' }),
      ingress({
        name: 'denied',
        annotations: annotated({ 'denylist-source-range': '203.0.113.0/24' }),
        rules: [{ host: 'denied.example.com', paths: [{}] }],
      }),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

async function statusFrom(addresses: readonly string[]): Promise<number> {
  const headers = { 'x-forwarded-for': addresses.join(', ') };
  return (await send({ port: gateway.httpPort, host: 'denied.example.com', headers })).status;
}

const made = (count: number) => Array.from({ length: count }, (_, index) => `198.51.100.${index + 1}`);

test('the last address that nobody vouches for is the client', async () => {
  expect(await statusFrom(['192.0.2.1'])).toBe(200);
  expect(await statusFrom(['203.0.113.5'])).toBe(403);
  expect(await statusFrom([...made(19), '203.0.113.5'])).toBe(403);
});

test('no address is hidden behind a list that is too long for Envoy', async () => {
  expect(await statusFrom([...made(20), '203.0.113.5'])).toBe(400);
});

test('nor by the form that IPv6 has for it', async () => {
  expect(await statusFrom(['::ffff:203.0.113.5'])).toBe(403);
  expect(await statusFrom(['::ffff:192.0.2.1'])).toBe(200);
});
