/** Sharded route tables through a real Envoy: the same answers as with one table, at the cost of one shard for a change. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { send, sendRaw } from '../support/http-client.ts';
import { ingress } from '../support/manifests.ts';
import { type Services, startServices, testCases } from './behaviour/cases.ts';

const FILLERS = 400;
/** In different shards. */
const ALIASES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => `${name}.alias.example.org`);

let gateway: Gateway;
let services: Services;

beforeAll(async () => {
  services = await startServices('shop', 'blog', 'any', 'wild');
  gateway = await startGateway({
    emit: { routeSharding: true },
    manifests: [
      ...services.manifests,
      ingress({
        name: 'fillers',
        rules: Array.from({ length: FILLERS }, (_, index) => ({
          host: `h${index}.filler.example.com`,
          paths: [{ service: 'blog' }],
        })),
      }),
      ingress({
        name: 'shop',
        annotations: { 'nginx.ingress.kubernetes.io/server-alias': ALIASES.join(',') },
        rules: [{ host: 'shop.example.com', paths: [{ service: 'shop' }] }],
      }),
      ingress({ name: 'wild', rules: [{ host: '*.example.com', paths: [{ service: 'wild' }] }] }),
      ingress({ name: 'short', rules: [{ host: 'x', paths: [{ service: 'shop' }] }] }),
      ingress({
        name: 'tls',
        rules: [{ host: 'tls.example.com', paths: [{ service: 'shop' }] }],
        tls: [{ hosts: ['tls.example.com'] }],
      }),
      ingress({ name: 'any', rules: [{ paths: [{ path: '/any', service: 'any' }] }] }),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

test('there are several shards', () => {
  const names = [...gateway.pipeline.store.names('type.googleapis.com/envoy.config.route.v3.RouteConfiguration')];
  expect(names.length).toBeGreaterThanOrEqual(8);
});

describe('a request', () => {
  testCases(
    () => gateway,
    [
      { url: 'http://shop.example.com/', backend: 'shop', received: { 'x-ingress-xds-shard': undefined } },
      {
        url: 'http://shop.example.com/',
        headers: { 'x-ingress-xds-shard': 'http-0' },
        backend: 'shop',
        received: { 'x-ingress-xds-shard': undefined },
        because: 'what a client says of the shard does not count',
      },
      { url: 'https://shop.example.com/', backend: 'shop' },
      ...ALIASES.map((alias) => ({ url: `http://${alias}/`, backend: 'shop', received: { host: alias } })),
      { url: 'http://SHOP.Example.COM/', backend: 'shop', received: { host: 'SHOP.Example.COM' } },
      { url: 'http://shop.example.com:8080/', backend: 'shop', received: { host: 'shop.example.com:8080' } },
      { url: 'http://shop.example.com./', backend: 'shop' },
      { url: 'http://SHOP.example.com.:8080/', backend: 'shop' },
      { url: 'http://x/', backend: 'shop' },
      { url: 'http://h7.filler.example.com/', backend: 'blog' },
      { url: 'https://h399.filler.example.com/', backend: 'blog' },
      { url: 'http://tls.example.com/', status: 308, answered: { location: 'https://tls.example.com' } },
      { url: 'https://tls.example.com/', backend: 'shop' },
      { url: 'http://other.example.com/', backend: 'wild' },
      { url: 'https://OTHER.example.com:444/', backend: 'wild' },
      { url: 'http://unknown.example.org/any', backend: 'any' },
      { url: 'https://unknown.example.org/any', backend: 'any' },
      { url: 'http://127.0.0.1/any', backend: 'any' },
      { url: 'http://127.0.0.1:8080/any', backend: 'any' },
      { url: 'http://[::1]:8080/any', backend: 'any' },
      { url: 'http://under_score.example.org/any', backend: 'any' },
      { url: 'http://unknown.example.org/', status: 404 },
    ],
  );

  test.each([
    ['an empty Host', 'GET /any HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n'],
    ['two Hosts', 'GET /any HTTP/1.1\r\nHost: shop.example.com\r\nHost: x\r\nConnection: close\r\n\r\n'],
  ])('with %s: 400', async (_what, text) => {
    expect(await sendRaw(gateway.httpPort, text)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  });

  test('of HTTP/1.0 without a Host reaches the default host', async () => {
    expect(await sendRaw(gateway.httpPort, 'GET /any HTTP/1.0\r\n\r\n')).toContain('"backend":"any"');
  });

  test.each([`%'"\\`, "a'b.example.com", 'a"b', '%41.example.com', 'a\\b'])(
    'for the odd host %s reaches the default host',
    async (host) => {
      const answer = await send({ port: gateway.httpPort, host, path: '/any' });
      expect([200, 400]).toContain(answer.status);
      if (answer.status === 200) expect(answer.body).toContain('"backend":"');
    },
  );
});
