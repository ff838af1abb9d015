import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { World } from '../../parity/table.ts';
import { headers } from '../../parity/tables/headers.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { sendHttp2, sendRaw } from '../../support/http-client.ts';
import { observe, testCases } from './cases.ts';

let gateway: Gateway;
let world: World;

beforeAll(async () => {
  world = await headers.start();
  gateway = await startGateway({ manifests: world.manifests });
});
afterAll(async () => {
  await gateway?.close();
  await world?.close();
});

describe('what a backend is told of the client', () => {
  testCases(() => gateway, headers.groups['what a backend is told of the client']);

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
  testCases(() => gateway, headers.groups['what a client says of itself is not believed']);
});

describe('what a client may say', () => {
  testCases(() => gateway, headers.groups['what a client may say']);
});

describe('what a client is told', () => {
  testCases(() => gateway, headers.groups['what a client is told']);

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
