import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Backend, startBackend } from '../../support/backend.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { sendHttp2, sendRaw } from '../../support/http-client.ts';
import { ingress, service } from '../../support/manifests.ts';
import { observe, type Services, startServices, testCases } from './cases.ts';

let gateway: Gateway;
let services: Services;
let talkative: Backend;

beforeAll(async () => {
  services = await startServices('web');
  talkative = await startBackend('talkative', (_request, response) => {
    response.writeHead(200, {
      server: 'backend/1.0',
      'x-powered-by': 'backend',
      'cache-control': 'private',
      'set-cookie': ['a=1; Path=/', 'b=2; HttpOnly'],
      location: 'http://backend.internal/next',
      'strict-transport-security': 'max-age=1',
      'x-request-id': 'of-the-backend',
    });
    response.end('ok');
  });
  gateway = await startGateway({
    manifests: [
      ...services.manifests,
      service('talkative'),
      talkative.slice('talkative'),
      ingress({ name: 'web', rules: [{ host: 'web.example.com', paths: [{}] }] }),
      ingress({ name: 'talkative', rules: [{ host: 'talkative.example.com', paths: [{ service: 'talkative:80' }] }] }),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all([services, talkative].map((part) => part?.close()));
});

describe('what a backend is told of the client', () => {
  testCases(
    () => gateway,
    [
      {
        url: 'http://web.example.com/x?y=1',
        backend: 'web',
        path: '/x?y=1',
        received: {
          host: 'web.example.com',
          'x-real-ip': '127.0.0.1',
          'x-forwarded-for': '127.0.0.1',
          'x-forwarded-host': 'web.example.com',
          'x-forwarded-proto': 'http',
          'x-forwarded-scheme': 'http',
          'x-scheme': 'http',
          'x-original-forwarded-for': undefined,
        },
      },
      {
        url: 'https://web.example.com/',
        backend: 'web',
        received: { 'x-forwarded-proto': 'https', 'x-forwarded-scheme': 'https', 'x-scheme': 'https' },
      },
      {
        url: 'http://web.example.com:8080/',
        backend: 'web',
        received: { host: 'web.example.com:8080', 'x-forwarded-host': 'web.example.com:8080' },
      },
    ],
  );

  test('the port is that of the listener', async () => {
    const http = await observe(gateway, { url: 'http://web.example.com:9999/' });
    const https = await observe(gateway, { url: 'https://web.example.com/' });
    expect(http.received?.headers['x-forwarded-port']).toBe(String(gateway.httpPort));
    expect(https.received?.headers['x-forwarded-port']).toBe(String(gateway.httpsPort));
  });

  test('every request has an id of its own', async () => {
    const ids = await Promise.all(
      [1, 2, 3].map(
        async () => (await observe(gateway, { url: 'http://web.example.com/' })).received?.headers['x-request-id'],
      ),
    );
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{32,36}$/);
  });

  test('the same over HTTP/2', async () => {
    const answer = await sendHttp2({ port: gateway.httpsPort, host: 'web.example.com', path: '/x' });
    expect(JSON.parse(answer.body).headers).toMatchObject({
      host: 'web.example.com',
      'x-real-ip': '127.0.0.1',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': 'web.example.com',
      'x-forwarded-port': String(gateway.httpsPort),
      'x-forwarded-proto': 'https',
      'x-scheme': 'https',
    });
  });

  test('nothing is said twice', async () => {
    const { received } = await observe(gateway, {
      url: 'http://web.example.com/',
      headers: { 'x-forwarded-for': ['1.1.1.1', '2.2.2.2'], 'x-real-ip': ['1.1.1.1', '2.2.2.2'] },
    });
    expect(received?.headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1' });
  });
});

describe('what a client says of itself is not believed', () => {
  const overwritten: Readonly<Record<string, [claimed: string, seen: string]>> = {
    'x-real-ip': ['9.9.9.9', '127.0.0.1'],
    'x-forwarded-for': ['9.9.9.9', '127.0.0.1'],
    'x-forwarded-host': ['evil.example.org', 'web.example.com'],
    'x-forwarded-proto': ['https', 'http'],
    'x-forwarded-scheme': ['https', 'http'],
    'x-scheme': ['https', 'http'],
  };
  const removed = [
    'proxy',
    'x-envoy-retry-on',
    'x-envoy-max-retries',
    'x-envoy-upstream-rq-timeout-ms',
    'x-envoy-original-path',
    'x-envoy-external-address',
    'x-envoy-decorator-operation',
    'x-envoy-internal',
    'x-envoy-force-trace',
    'under_score',
  ];
  testCases(
    () => gateway,
    [
      ...Object.entries(overwritten).map(([name, [claimed, seen]]) => ({
        url: 'http://web.example.com/',
        headers: { [name]: claimed },
        backend: 'web',
        received: { [name]: seen },
        because: `${name} is overwritten`,
      })),
      ...removed.map((name) => ({
        url: 'http://web.example.com/',
        headers: { [name]: '1' },
        backend: 'web',
        received: { [name]: undefined },
        because: `${name} is removed`,
      })),
      {
        url: 'http://web.example.com/',
        headers: { 'x-forwarded-port': '1' },
        backend: 'web',
        received: { 'x-original-forwarded-for': undefined },
      },
      {
        url: 'http://web.example.com/',
        headers: { 'x-forwarded-for': '9.9.9.9, 8.8.8.8' },
        backend: 'web',
        received: { 'x-original-forwarded-for': '9.9.9.9, 8.8.8.8', 'x-forwarded-for': '127.0.0.1' },
        because: 'but the list that it sent is kept under another name',
      },
      {
        url: 'http://web.example.com/',
        headers: { 'x-original-forwarded-for': '7.7.7.7' },
        backend: 'web',
        received: { 'x-original-forwarded-for': undefined },
      },
      {
        url: 'http://web.example.com/',
        headers: { 'x-original-forwarded-for': '7.7.7.7', 'x-forwarded-for': '9.9.9.9' },
        backend: 'web',
        received: { 'x-original-forwarded-for': '9.9.9.9' },
      },
    ],
  );
});

describe('what a client may say', () => {
  testCases(
    () => gateway,
    Object.entries({
      'x-request-id': 'any-text of mine',
      authorization: 'Bearer token',
      cookie: 'a=1; b=2',
      'user-agent': 'test/1.0',
      referer: 'https://shop.example.com/page?x=1',
      'accept-encoding': 'gzip, br',
      accept: 'application/json',
      'x-custom-header': 'value with spaces, commas; and more',
      origin: 'https://shop.example.com',
      forwarded: 'for=9.9.9.9',
      'cf-connecting-ip': '9.9.9.9',
    }).map(([name, value]) => ({
      url: 'http://web.example.com/',
      headers: { [name]: value },
      backend: 'web',
      received: { [name]: value },
      because: `${name} arrives as it is`,
    })),
  );
});

describe('what a client is told', () => {
  testCases(
    () => gateway,
    [
      {
        url: 'http://talkative.example.com/',
        answered: {
          server: undefined,
          'x-envoy-upstream-service-time': undefined,
          'x-powered-by': 'backend',
          'cache-control': 'private',
          location: 'http://backend.internal/next',
          'x-request-id': 'of-the-backend',
        },
      },
      {
        url: 'https://talkative.example.com/',
        answered: { 'strict-transport-security': 'max-age=31536000; includeSubDomains' },
        because: 'one word on HSTS, that of the proxy',
      },
      {
        url: 'http://web.example.com/',
        backend: 'web',
        answered: { server: undefined, via: undefined, 'x-request-id': undefined },
      },
      { url: 'http://unknown.example.org/', status: 404, answered: { server: undefined } },
    ],
  );

  test('every cookie', async () => {
    const { answer } = await observe(gateway, { url: 'http://talkative.example.com/' });
    expect(answer.headers['set-cookie']).toEqual(['a=1; Path=/', 'b=2; HttpOnly']);
  });

  test('nothing of Envoy, in whatever answer', async () => {
    const request = (host: string, path: string) =>
      sendRaw(gateway.httpPort, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    const answers = await Promise.all([
      request('web.example.com', '/'),
      request('talkative.example.com', '/'),
      request('unknown.example.org', '/'),
      request('bad host', '/'),
    ]);
    for (const answer of answers) expect(answer).not.toMatch(/envoy/i);
  });
});
