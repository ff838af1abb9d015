import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { World } from '../../parity/table.ts';
import { host, redirect } from '../../parity/tables/redirect.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { send, sendRaw } from '../../support/http-client.ts';
import { observe, soon, testCases } from './cases.ts';

let gateway: Gateway;
let world: World;

beforeAll(async () => {
  world = await redirect.start();
  gateway = await startGateway({ manifests: world.manifests });
});
afterAll(async () => {
  await gateway?.close();
  await world?.close();
});

describe('http is redirected to https', () => {
  testCases(() => gateway, redirect.groups['http is redirected to https']);

  test('whatever the case of the host', async () => {
    const { answer } = await observe(gateway, { url: 'http://SHOP.example.com/a' });
    expect([answer.status, answer.headers.location?.toLowerCase()]).toEqual([308, 'https://shop.example.com/a']);
  });

  test('with the page of nginx', async () => {
    const { answer } = await observe(gateway, { url: 'http://shop.example.com/' });
    expect(answer.headers['content-type']).toBe('text/html');
    expect(answer.body).toContain('<center><h1>308 Permanent Redirect</h1></center>');
  });

  test('over HTTP/1.0, with the host of the request', async () => {
    const answer = await sendRaw(gateway.httpPort, 'GET /a HTTP/1.0\r\nHost: shop.example.com\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.0 308 /);
    expect(answer).toMatch(/\r\nlocation: https:\/\/shop\.example\.com\/a\r\n/i);
  });
});

describe('whatever became of the certificate', () => {
  testCases(() => gateway, redirect.groups['whatever became of the certificate']);
});

describe('not redirected', () => {
  testCases(() => gateway, redirect.groups['not redirected']);
});

describe('TLS comes and goes', () => {
  test('with the Ingress that brings it', async () => {
    const status = async () => (await send({ port: gateway.httpPort, host: 'plain.example.com' })).status;
    await gateway.apply(host('plain.example.com', ['/'], { hosts: ['plain.example.com'] }));
    await soon(status).toBe(308);
    await gateway.apply(host('plain.example.com', ['/']));
    await soon(status).toBe(200);
  });
});
