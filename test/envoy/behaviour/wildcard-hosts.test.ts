import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { peerCertificate, send, sendHttp2, sendRaw } from '../../support/http-client.ts';
import { ingress, tlsSecret } from '../../support/manifests.ts';
import { makePair } from '../../support/pki.ts';
import { observe, type Services, soon, startServices, testCases } from './cases.ts';

let gateway: Gateway;
let services: Services;

beforeAll(async () => {
  services = await startServices('wild', 'deep', 'exact', 'any', 'solver');
  gateway = await startGateway({
    manifests: [
      ...services.manifests,
      ingress({
        name: 'wild',
        rules: [
          {
            host: '*.example.com',
            paths: [
              { path: '/', service: 'wild' },
              { path: '/exact', pathType: 'Exact', service: 'exact' },
            ],
          },
        ],
      }),
      ingress({ name: 'deep', rules: [{ host: '*.deep.example.com', paths: [{ service: 'deep' }] }] }),
      ingress({ name: 'exact', rules: [{ host: 'shop.example.com', paths: [{ path: '/a', service: 'exact' }] }] }),
      ingress({ name: 'part', rules: [{ host: '*.part.example.org', paths: [{ path: '/a', service: 'wild' }] }] }),
      ingress({ name: 'any', rules: [{ paths: [{ path: '/any', service: 'any' }] }] }),
      ingress({
        name: 'secure',
        rules: [{ host: '*.secure.example.org', paths: [{ service: 'wild' }] }],
        tls: [{ hosts: ['*.secure.example.org'], secretName: 'secure' }],
      }),
      tlsSecret('secure', await makePair(['*.secure.example.org'])),
      ingress({
        name: 'secure-acme',
        rules: [
          {
            host: '*.secure.example.org',
            paths: [{ path: '/.well-known/acme-challenge/token', pathType: 'Exact', service: 'solver' }],
          },
        ],
      }),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

describe('a wildcard host', () => {
  testCases(
    () => gateway,
    [
      { url: 'http://a.example.com/', backend: 'wild' },
      { url: 'http://b.example.com/x/y?z=1', backend: 'wild', path: '/x/y?z=1' },
      { url: 'http://a.example.com/exact', backend: 'exact' },
      { url: 'http://under_score.example.com/', backend: 'wild' },
      { url: 'http://xn--bcher-kva.example.com/', backend: 'wild' },
      { url: 'http://A.Example.COM/', backend: 'wild', received: { host: 'A.Example.COM' } },
      { url: 'http://a.example.com:8080/', backend: 'wild', received: { host: 'a.example.com:8080' } },
      { url: 'http://a.example.com./', backend: 'wild' },
      { url: 'https://a.example.com/', backend: 'wild' },
      { url: 'http://a.part.example.org/b', status: 404, because: 'what it does not name is not found' },
      { url: 'http://a.part.example.org/any', status: 404, because: 'the default server is no fallback for its hosts' },
      { url: 'http://a.part.example.org/healthz', status: 404 },
    ],
  );

  test('over HTTP/2', async () => {
    const answer = await sendHttp2({ port: gateway.httpsPort, host: 'a.example.com' });
    expect(JSON.parse(answer.body)).toMatchObject({ backend: 'wild' });
  });
});

describe('which host counts', () => {
  testCases(
    () => gateway,
    [
      { url: 'http://shop.example.com/a', backend: 'exact', because: 'an exact host beats a wildcard' },
      { url: 'http://shop.example.com/', status: 404, because: 'and does not fall back to it' },
      { url: 'http://x.deep.example.com/', backend: 'deep', because: 'the longer wildcard beats the shorter' },
      { url: 'http://deep.example.com/', backend: 'wild', because: 'a wildcard does not cover its own domain' },
      { url: 'http://a.part.example.org/a', backend: 'wild' },
    ],
  );
});

describe('a wildcard stands for exactly one label: the default server answers', () => {
  testCases(
    () => gateway,
    [
      { url: 'http://x.y.example.com/', status: 404 },
      { url: 'http://x.y.example.com/any', backend: 'any' },
      { url: 'https://x.y.example.com/any', backend: 'any' },
      { url: 'http://x.y.example.com:8080/any', backend: 'any' },
      { url: 'http://x.y.example.com/healthz', status: 200 },
      { url: 'http://x.y.deep.example.com/any', backend: 'any' },
      { url: 'http://x.y.deep.example.com/', status: 404 },
      { url: 'http://example.com/', status: 404 },
      { url: 'http://example.com/any', backend: 'any' },
      { url: 'http://.example.com/any', backend: 'any' },
      { url: 'http://.example.com/', status: 404 },
      { url: 'http://a!.example.com/', status: 404, because: 'a label has letters, digits, - and _ only' },
      { url: 'http://x.y.secure.example.org/any', backend: 'any', because: 'it is not redirected either' },
      { url: 'https://x.y.secure.example.org/any', backend: 'any' },
    ],
  );

  test('a Host that stands there twice is refused', async () => {
    const text = 'GET / HTTP/1.1\r\nHost: a.example.com\r\nHost: b.example.com\r\nConnection: close\r\n\r\n';
    expect(await sendRaw(gateway.httpPort, text)).toMatch(/^HTTP\/1\.1 400 /);
    const spaced = 'GET / HTTP/1.1\r\nHost: a b.example.com\r\nConnection: close\r\n\r\n';
    expect(await sendRaw(gateway.httpPort, spaced)).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('TLS of a wildcard host', () => {
  const to = (location: string) => ({ status: 308, answered: { location } });
  testCases(
    () => gateway,
    [
      { url: 'https://a.secure.example.org/', backend: 'wild' },
      { url: 'http://a.secure.example.org/', ...to('https://a.secure.example.org') },
      { url: 'http://a.secure.example.org/x?y=z&a=%20', ...to('https://a.secure.example.org/x?y=z&a=%20') },
      { url: 'http://a.secure.example.org/x/', ...to('https://a.secure.example.org/x') },
      { url: 'http://a.secure.example.org:8080/x', ...to('https://a.secure.example.org/x') },
      { url: 'http://a.secure.example.org:80/x', ...to('https://a.secure.example.org/x') },
      { url: 'http://b.secure.example.org./x', ...to('https://b.secure.example.org/x') },
      { url: 'http://a.secure.example.org/a%2Fb%20c', ...to('https://a.secure.example.org/a%2Fb%20c') },
      { url: 'http://a.secure.example.org/x', method: 'POST', body: 'x', ...to('https://a.secure.example.org/x') },
      { url: 'http://a.secure.example.org/.well-known/acme-challenge/token', backend: 'solver' },
      { url: 'http://a.secure.example.org/.well-known/acme-challenge/other', status: 308 },
    ],
  );

  test('the redirect has the page of nginx', async () => {
    const { answer } = await observe(gateway, { url: 'http://a.secure.example.org/' });
    expect(answer.headers['content-type']).toBe('text/html');
    expect(answer.body).toContain('<center><h1>308 Permanent Redirect</h1></center>');
  });

  test.each([
    ['a.secure.example.org', '*.secure.example.org'],
    ['B.Secure.Example.Org', '*.secure.example.org'],
    ['x.y.secure.example.org', 'ingress.local'],
    ['secure.example.org', 'ingress.local'],
    ['a.example.com', 'ingress.local'],
  ])('%s shows %s', async (serverName, commonName) => {
    expect((await peerCertificate(gateway.httpsPort, serverName)).subject.CN).toBe(commonName);
  });
});

describe('a wildcard host under change', () => {
  const backendOf = async (host: string, path = '/') => {
    const { answer, received } = await observe(gateway, { url: `http://${host}${path}` });
    return received?.backend ?? answer.status;
  };

  test('an exact host comes and goes', async () => {
    expect(await backendOf('late.example.com')).toBe('wild');
    await gateway.apply(
      ingress({ name: 'late', rules: [{ host: 'late.example.com', paths: [{ service: 'exact' }] }] }),
    );
    await soon(() => backendOf('late.example.com')).toBe('exact');
    await gateway.remove('Ingress', 'late');
    await soon(() => backendOf('late.example.com')).toBe('wild');
  });

  test('a change of the default server reaches the hosts that are not of the wildcard', async () => {
    expect(await backendOf('x.y.example.com', '/late')).toBe(404);
    await gateway.apply(ingress({ name: 'late-any', rules: [{ paths: [{ path: '/late', service: 'any' }] }] }));
    await soon(() => backendOf('x.y.example.com', '/late')).toBe('any');
    await gateway.remove('Ingress', 'late-any');
    await soon(() => backendOf('x.y.example.com', '/late')).toBe(404);
  });

  test('it comes and goes itself', async () => {
    await gateway.apply(ingress({ name: 'new', rules: [{ host: '*.new.example.org', paths: [{ service: 'wild' }] }] }));
    await soon(() => backendOf('a.new.example.org')).toBe('wild');
    await gateway.remove('Ingress', 'new');
    await soon(() => backendOf('a.new.example.org')).toBe(404);
    expect((await send({ port: gateway.httpPort, host: 'a.new.example.org', path: '/healthz' })).status).toBe(200);
  });
});
