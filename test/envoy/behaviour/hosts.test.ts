import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { World } from '../../parity/table.ts';
import { hosts } from '../../parity/tables/hosts.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { send, sendRaw } from '../../support/http-client.ts';
import { ingress } from '../../support/manifests.ts';
import { soon, testCases } from './cases.ts';

let gateway: Gateway;
let world: World;

beforeAll(async () => {
  world = await hosts.start();
  gateway = await startGateway({ manifests: world.manifests });
});
afterAll(async () => {
  await gateway?.close();
  await world?.close();
});

describe('a host of a rule', () => {
  testCases(() => gateway, hosts.groups['a host of a rule']);
});

describe('a host that is spelt oddly', () => {
  testCases(() => gateway, hosts.groups['a host that is spelt oddly']);

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
  testCases(() => gateway, hosts.groups['the Host of a request']);

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
  testCases(() => gateway, hosts.groups['a host that nobody claims']);

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
