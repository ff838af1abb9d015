import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { World } from '../../parity/table.ts';
import { wildcardHosts } from '../../parity/tables/wildcard-hosts.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { peerCertificate, send, sendHttp2, sendRaw } from '../../support/http-client.ts';
import { ingress } from '../../support/manifests.ts';
import { observe, soon, testCases } from './cases.ts';

let gateway: Gateway;
let world: World;

beforeAll(async () => {
  world = await wildcardHosts.start();
  gateway = await startGateway({ manifests: world.manifests });
});
afterAll(async () => {
  await gateway?.close();
  await world?.close();
});

describe('a wildcard host', () => {
  testCases(() => gateway, wildcardHosts.groups['a wildcard host']);

  test('over HTTP/2', async () => {
    const answer = await sendHttp2({ port: gateway.httpsPort, host: 'a.example.com' });
    expect(JSON.parse(answer.body)).toMatchObject({ backend: 'wild' });
  });
});

describe('which host counts', () => {
  testCases(() => gateway, wildcardHosts.groups['which host counts']);
});

describe('a wildcard stands for exactly one label: the default server answers', () => {
  testCases(() => gateway, wildcardHosts.groups['a wildcard stands for exactly one label: the default server answers']);

  test('a Host that stands there twice is refused', async () => {
    const text = 'GET / HTTP/1.1\r\nHost: a.example.com\r\nHost: b.example.com\r\nConnection: close\r\n\r\n';
    expect(await sendRaw(gateway.httpPort, text)).toMatch(/^HTTP\/1\.1 400 /);
    const spaced = 'GET / HTTP/1.1\r\nHost: a b.example.com\r\nConnection: close\r\n\r\n';
    expect(await sendRaw(gateway.httpPort, spaced)).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('TLS of a wildcard host', () => {
  testCases(() => gateway, wildcardHosts.groups['TLS of a wildcard host']);

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
