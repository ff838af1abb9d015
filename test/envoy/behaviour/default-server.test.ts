import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { send, sendTlsRaw } from '../../support/http-client.ts';
import { ingress, service, tlsSecret } from '../../support/manifests.ts';
import { makePair } from '../../support/pki.ts';
import { observe, type Services, soon, startServices, testCases } from './cases.ts';

const HSTS = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' };

let services: Services;

beforeAll(async () => {
  services = await startServices('web', 'any', 'fallback', 'other');
});
afterAll(() => services?.close());

describe('--default-backend-service', () => {
  let gateway: Gateway;

  beforeAll(async () => {
    gateway = await startGateway({
      build: { defaultBackendService: 'default/fallback' },
      manifests: [
        ...services.manifests,
        ingress({ name: 'shop', rules: [{ host: 'shop.example.com', paths: [{ path: '/shop' }] }] }),
        ingress({
          name: 'own',
          defaultBackend: 'other:80',
          rules: [{ host: 'own.example.com', paths: [{ path: '/own' }] }],
        }),
        ingress({
          name: 'secure',
          rules: [{ host: 'secure.example.com', paths: [{ path: '/a' }] }],
          tls: [{ hosts: ['secure.example.com'] }],
        }),
        ingress({ name: 'wild', rules: [{ host: '*.wild.example.com', paths: [{ path: '/a' }] }] }),
        ingress({ name: 'direct', rules: [{ host: 'direct.example.com', paths: [{ service: 'fallback' }] }] }),
        ingress({ name: 'any', rules: [{ paths: [{ path: '/any', service: 'any' }] }] }),
      ],
    });
  });
  afterAll(() => gateway?.close());

  describe('answers what nobody wants', () => {
    testCases(
      () => gateway,
      [
        { url: 'http://unknown.example.org/', backend: 'fallback' },
        { url: 'http://unknown.example.org/x?y=z', backend: 'fallback', path: '/x?y=z' },
        { url: 'https://unknown.example.org/', backend: 'fallback', answered: HSTS },
        { url: 'http://10.0.0.1/', backend: 'fallback' },
        { url: 'http://unknown.example.org/any', backend: 'any', because: 'a rule without a host wants it' },
        { url: 'http://unknown.example.org/healthz', status: 200, because: 'the health check stays' },
        { url: 'http://shop.example.com/', backend: 'fallback' },
        { url: 'http://shop.example.com/shop', backend: 'web' },
        { url: 'http://own.example.com/', backend: 'other', because: 'its Ingress has a default backend of its own' },
        { url: 'http://secure.example.com/', status: 308, because: 'what no rule names belongs to the host' },
        { url: 'https://secure.example.com/', backend: 'fallback' },
        { url: 'http://a.wild.example.com/', backend: 'fallback' },
        { url: 'http://a.b.wild.example.com/', backend: 'fallback' },
        { url: 'http://a.b.wild.example.com/a', backend: 'fallback' },
      ],
    );
  });

  test('without endpoints it is as if it were not there; for an Ingress that names it, it is unavailable', async () => {
    await gateway.remove('EndpointSlice', 'fallback-fallback');
    const status = async (url: string) => (await observe(gateway, { url })).answer.status;
    await soon(() => status('http://unknown.example.org/')).toBe(404);
    expect(await status('http://shop.example.com/')).toBe(404);
    expect(await status('https://unknown.example.org/')).toBe(404);
    expect(await status('http://a.b.wild.example.com/')).toBe(404);
    expect(await status('http://direct.example.com/')).toBe(503);
    const { body } = await send({ port: gateway.httpPort, host: 'unknown.example.org' });
    expect(body).toContain('<center><h1>404 Not Found</h1></center>');
    await gateway.apply(...services.manifests);
    await soon(() => status('http://unknown.example.org/')).toBe(200);
  });

  test('without the Service, too', async () => {
    await gateway.remove('Service', 'fallback');
    const status = async () => (await observe(gateway, { url: 'http://unknown.example.org/' })).answer.status;
    await soon(status).toBe(404);
    await gateway.apply(service('fallback'));
    await soon(status).toBe(200);
  });
});

describe('rules without a host', () => {
  let gateway: Gateway;

  beforeAll(async () => {
    gateway = await startGateway({
      manifests: [
        ...services.manifests,
        ingress({
          name: 'any',
          rules: [{ paths: [{ path: '/any', service: 'any' }] }],
          tls: [{ hosts: ['unclaimed.example.com'], secretName: 'any' }],
        }),
        tlsSecret('any', await makePair(['unclaimed.example.com'])),
        ingress({ name: 'root', defaultBackend: 'other:80', rules: [{ host: '', paths: [{ path: '/x' }] }] }),
        ingress({
          name: 'secure',
          rules: [{ host: 'secure.example.com', paths: [{ path: '/a' }] }],
          tls: [{ hosts: ['secure.example.com'] }],
        }),
      ],
    });
  });
  afterAll(() => gateway?.close());

  describe('have no TLS of their own, whatever their Ingress says', () => {
    testCases(
      () => gateway,
      [
        { url: 'http://unclaimed.example.com/any', backend: 'any' },
        { url: 'https://unclaimed.example.com/any', backend: 'any', answered: HSTS },
        { url: 'http://secure.example.com/any', status: 308 },
        { url: 'https://secure.example.com/any', status: 404, answered: HSTS },
      ],
    );

    test('which is said', () => {
      const diagnostics = gateway.pipeline.controller.currentDiagnostics();
      expect(diagnostics.filter(({ ref }) => ref?.name === 'any').map(({ code }) => code)).toEqual(['TlsWithoutHost']);
    });
  });
});

describe('Strict-Transport-Security on what no route answers', () => {
  let gateway: Gateway;

  beforeAll(async () => {
    gateway = await startGateway({ manifests: services.manifests });
  });
  afterAll(() => gateway?.close());

  test.each([
    ['a request that is none', 'NONSENSE\r\n\r\n', 400],
    ['a request without a Host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['two Hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n', 400],
    ['large headers', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(64 * 1024)}\r\nConnection: close\r\n\r\n`, 400],
    ['an unknown host', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 404],
  ])('%s', async (_what, text, status) => {
    const answer = await sendTlsRaw(gateway.httpsPort, text);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer.match(/strict-transport-security: max-age=31536000; includeSubDomains\r\n/gi)).toHaveLength(1);
  });
});
