import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { send, sendRaw } from '../../support/http-client.ts';
import { ingress } from '../../support/manifests.ts';
import { type Services, soon, startServices, testCases } from './cases.ts';

let gateway: Gateway;
let services: Services;

beforeAll(async () => {
  services = await startServices('shop', 'blog', 'any');
  gateway = await startGateway({
    manifests: [
      ...services.manifests,
      ingress({ name: 'shop', rules: [{ host: 'shop.example.com', paths: [{ service: 'shop' }] }] }),
      ingress({ name: 'blog', rules: [{ host: 'blog.example.com', paths: [{ path: '/posts', service: 'blog' }] }] }),
      ingress({
        name: 'two-hosts',
        rules: [
          { host: 'one.example.com', paths: [{ service: 'shop' }] },
          { host: 'two.example.com', paths: [{ service: 'blog' }] },
        ],
      }),
      ingress({
        name: 'same-host-twice',
        rules: [
          { host: 'twice.example.com', paths: [{ path: '/a', service: 'shop' }] },
          { host: 'twice.example.com', paths: [{ path: '/b', service: 'blog' }] },
        ],
      }),
      ingress({ name: 'any', rules: [{ paths: [{ path: '/any', service: 'any' }] }] }),
      // What an API server would not take, but a folder may hold.
      ingress({ name: 'upper', rules: [{ host: 'UPPER.Example.com', paths: [{ service: 'shop' }] }] }),
      ingress({ name: 'dot', rules: [{ host: 'dot.example.com.', paths: [{ service: 'shop' }] }] }),
      ingress({
        name: 'invalid',
        rules: ['port.example.com:8080', '10.0.0.1', '[::1]', 'under_score.example.com', 'a.*.example.com'].map(
          (host) => ({ host, paths: [{ service: 'shop' }] }),
        ),
      }),
      ingress({ name: 'punycode', rules: [{ host: 'xn--bcher-kva.example.com', paths: [{ service: 'shop' }] }] }),
      ingress({ name: 'single', rules: [{ host: 'localhost', paths: [{ service: 'shop' }] }] }),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

describe('a host of a rule', () => {
  testCases(
    () => gateway,
    [
      { url: 'http://shop.example.com/', backend: 'shop' },
      { url: 'http://shop.example.com/any', backend: 'shop', because: 'its own rules come before host-less ones' },
      { url: 'http://blog.example.com/posts/1', backend: 'blog' },
      { url: 'http://one.example.com/', backend: 'shop' },
      { url: 'http://two.example.com/', backend: 'blog' },
      { url: 'http://twice.example.com/a', backend: 'shop' },
      { url: 'http://twice.example.com/b', backend: 'blog' },
      { url: 'https://shop.example.com/', backend: 'shop', because: 'https is open to hosts without TLS of their own' },
    ],
  );
});

describe('a host that is spelt oddly', () => {
  testCases(
    () => gateway,
    [
      { url: 'http://upper.example.com/', backend: 'shop' },
      { url: 'http://Upper.Example.COM/', backend: 'shop' },
      { url: 'http://dot.example.com/', backend: 'shop' },
      { url: 'http://dot.example.com./', backend: 'shop' },
      { url: 'http://xn--bcher-kva.example.com/', backend: 'shop' },
      { url: 'http://XN--BCHER-KVA.example.com/', backend: 'shop' },
      { url: 'http://localhost:8080/', backend: 'shop' },
      { url: 'http://port.example.com:8080/', status: 404, because: 'its rule is refused' },
      { url: 'http://10.0.0.1/', status: 404 },
      { url: 'http://[::1]/', status: 404 },
      { url: 'http://under_score.example.com/', status: 404 },
    ],
  );

  test('is named, and so is one that is refused', () => {
    const codes = gateway.pipeline.controller
      .currentDiagnostics()
      .flatMap(({ code, ref, field }) => (ref?.kind === 'Ingress' ? [`${ref.name} ${code} ${field}`] : []));
    expect(codes.toSorted()).toEqual([
      'dot IngressHostNormalized spec.rules[0].host',
      ...[0, 1, 2, 3, 4].map((index) => `invalid IngressHostInvalid spec.rules[${index}].host`),
      'upper IngressHostNormalized spec.rules[0].host',
    ]);
  });
});

describe('the Host of a request', () => {
  testCases(
    () => gateway,
    [
      { url: 'http://SHOP.Example.COM/', backend: 'shop', received: { host: 'SHOP.Example.COM' } },
      { url: 'http://shop.example.com:8080/', backend: 'shop', received: { host: 'shop.example.com:8080' } },
      { url: 'http://shop.example.com:80/', backend: 'shop', received: { host: 'shop.example.com:80' } },
      { url: 'http://shop.example.com./', backend: 'shop', because: 'a dot at the end is the root of the same name' },
      { url: 'http://SHOP.example.com.:8080/', backend: 'shop' },
      { url: 'http://shop.example.com.evil.org/', status: 404 },
      { url: 'http://xshop.example.com/', status: 404 },
      { url: 'http://x.shop.example.com/', status: 404 },
      { url: 'http://example.com/', status: 404 },
    ],
  );

  test.each([
    ['is empty', 'GET /any HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n'],
    ['is missing', 'GET /any HTTP/1.1\r\nConnection: close\r\n\r\n'],
    [
      'stands there twice',
      'GET /any HTTP/1.1\r\nHost: shop.example.com\r\nHost: blog.example.com\r\nConnection: close\r\n\r\n',
    ],
    ['holds a space', 'GET /any HTTP/1.1\r\nHost: shop example.com\r\nConnection: close\r\n\r\n'],
  ])('%s: 400', async (_what, text) => {
    expect(await sendRaw(gateway.httpPort, text)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  });

  test('gives way to the host of an absolute request target', async () => {
    const text = 'GET http://shop.example.com/x HTTP/1.1\r\nHost: blog.example.com\r\nConnection: close\r\n\r\n';
    expect(await sendRaw(gateway.httpPort, text)).toContain('"backend":"shop"');
  });
});

describe('a host that nobody claims', () => {
  testCases(
    () => gateway,
    [
      { url: 'http://unknown.example.org/any', backend: 'any', because: 'a rule without a host answers it' },
      { url: 'https://unknown.example.org/any', backend: 'any' },
      { url: 'http://127.0.0.1/any', backend: 'any' },
      { url: 'http://[::1]:8080/any', backend: 'any' },
      { url: 'http://unknown.example.org/', status: 404 },
      { url: 'https://unknown.example.org/', status: 404 },
      { url: 'http://unknown.example.org/healthz', status: 200 },
      { url: 'https://unknown.example.org/healthz', status: 200 },
      { url: 'http://blog.example.com/healthz', status: 404, because: 'only unclaimed hosts have it' },
      { url: 'http://shop.example.com/healthz', backend: 'shop' },
      { url: 'http://blog.example.com/any', status: 404, because: 'host-less rules are no fallback for claimed hosts' },
      { url: 'http://blog.example.com/', status: 404 },
    ],
  );

  test('gets the page of nginx', async () => {
    const answer = await send({ port: gateway.httpPort, host: 'unknown.example.org' });
    expect(answer.headers['content-type']).toBe('text/html');
    expect(answer.body).toMatch(/^<html>\r\n<head><title>404 Not Found<\/title><\/head>\r\n/);
    expect(answer.body).toContain('<center><h1>404 Not Found</h1></center>');
    expect(answer.body).toContain('<hr><center>nginx</center>');
  });
});

describe('the health check', () => {
  test('gives way to an Ingress that claims its path on the default server', async () => {
    await gateway.apply(
      ingress({ name: 'health', rules: [{ paths: [{ path: '/healthz', pathType: 'Exact', service: 'any' }] }] }),
    );
    const body = async () =>
      (await send({ port: gateway.httpPort, host: 'unknown.example.org', path: '/healthz' })).body;
    await soon(body).toContain('"backend":"any"');
    await gateway.remove('Ingress', 'health');
    await soon(body).toBe('');
  });
});
