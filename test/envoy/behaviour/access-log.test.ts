/** The access log, read as log parsers read that of ingress-nginx. */
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Backend, startBackend } from '../../support/backend.ts';
import { type Gateway, poll, startGateway } from '../../support/gateway.ts';
import { sendHttp2 } from '../../support/http-client.ts';
import { endpointSlice, ingress, type Manifest, service } from '../../support/manifests.ts';
import { REFUSING_PORT } from '../../support/static-envoy.ts';
import { observe, type Services, startServices } from './cases.ts';

const DELAY_MS = 1050;

const LINE = new RegExp(
  [
    String.raw`^(?<remote_addr>\S+) - (?<remote_user>\S+) \[(?<time_local>[^\]]+)\]`,
    String.raw`"(?<request>[^"]*)" (?<status>\d{3}) (?<body_bytes_sent>\d+) "(?<http_referer>[^"]*)" "(?<http_user_agent>[^"]*)"`,
    String.raw`(?<request_length>\d+) (?<request_time>\d+\.\d{3}) \[(?<proxy_upstream_name>[^\]]*)\] \[\]`,
    String.raw`(?<upstream_addr>\S+) (?<upstream_response_length>\d+|-) (?<upstream_response_time>\d+\.\d{3}|-)`,
    String.raw`(?<upstream_status>\d{3}|-) (?<req_id>\S+)$`,
  ].join(' '),
);

let gateway: Gateway;
let services: Services;
let slow: Backend;
let silent: Backend;
const silentAsked = Promise.withResolvers<void>();

function to(name: string): Manifest {
  return ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:80` }] }] });
}

beforeAll(async () => {
  services = await startServices('web');
  slow = await startBackend('slow', (_, response) => {
    setTimeout(() => response.end('slow'), DELAY_MS);
  });
  silent = await startBackend('silent', () => silentAsked.resolve());
  gateway = await startGateway({
    emit: { accessLog: true },
    manifests: [
      ...services.manifests,
      service('slow'),
      slow.slice('slow'),
      service('silent'),
      silent.slice('silent'),
      service('refused'),
      endpointSlice('refused', ['127.0.0.1'], { port: REFUSING_PORT }),
      service('empty'),
      ...['web', 'slow', 'silent', 'refused', 'empty'].map(to),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all([services, slow, silent].map((part) => part?.close()));
});

/** The line of the request with this id, by the names of nginx's variables. */
async function logged(id: string): Promise<Record<string, string>> {
  const find = () =>
    gateway
      .log()
      .split('\n')
      .find((line) => line.endsWith(` ${id}`));
  await poll(
    () => find() !== undefined,
    () => `no line for ${id} in:\n${gateway.log()}`,
  );
  const fields = LINE.exec(find() ?? '')?.groups;
  if (fields === undefined) throw new Error(`not of the format: ${find()}`);
  return fields;
}

let count = 0;

/** Sends a request and says what was logged of it. */
async function logOf(url: string, more: Partial<Parameters<typeof observe>[1]> = {}): Promise<Record<string, string>> {
  count += 1;
  const id = `request-${count}`;
  await observe(gateway, { url, ...more, headers: { 'x-request-id': id, ...more.headers } });
  return await logged(id);
}

describe('a line of the access log', () => {
  test('says what was asked and answered', async () => {
    const line = await logOf('http://web.example.com/x?y=1', {
      headers: { 'user-agent': 'curl/8.0', referer: 'http://a.example.com/' },
    });
    expect(line).toMatchObject({
      remote_addr: '127.0.0.1',
      remote_user: '-',
      request: 'GET /x?y=1 HTTP/1.1',
      status: '200',
      http_referer: 'http://a.example.com/',
      http_user_agent: 'curl/8.0',
      proxy_upstream_name: 'default-web-80',
      upstream_status: '200',
    });
    expect(line['time_local']).toMatch(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/);
    expect(line['upstream_addr']).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(line['upstream_response_length']).toBe(line['body_bytes_sent']);
    expect(Number(line['body_bytes_sent'])).toBeGreaterThan(100);
  });

  test('counts the head of the request and its body', async () => {
    const short = await logOf('http://web.example.com/', { method: 'POST', body: '' });
    const long = await logOf('http://web.example.com/', { method: 'POST', body: 'x'.repeat(5000) });
    expect(Number(long['request_length']) - Number(short['request_length'])).toBeGreaterThanOrEqual(5000);
    expect(Number(short['request_length'])).toBeGreaterThan(50);
  });

  test('gives times in seconds', async () => {
    const line = await logOf('http://slow.example.com/');
    for (const name of ['request_time', 'upstream_response_time'] as const) {
      expect(Number(line[name])).toBeGreaterThanOrEqual(DELAY_MS / 1000 - 0.05);
      expect(Number(line[name])).toBeLessThan(DELAY_MS / 1000 + 10);
    }
    expect(Number((await logOf('http://web.example.com/'))['request_time'])).toBeLessThan(1);
  });

  test('writes - for what is not there', async () => {
    expect(await logOf('http://web.example.com/')).toMatchObject({ http_referer: '-', http_user_agent: '-' });
    expect(await logOf('http://nobody.example.org/')).toMatchObject({
      status: '404',
      proxy_upstream_name: '-',
      upstream_addr: '-',
      upstream_response_length: '-',
      upstream_response_time: '-',
      upstream_status: '-',
    });
  });

  test('names the backend that has no endpoint, and the endpoint that refuses', async () => {
    expect(await logOf('http://empty.example.com/')).toMatchObject({
      status: '503',
      proxy_upstream_name: 'default-empty-80',
      upstream_addr: '-',
      upstream_status: '-',
    });
    expect(await logOf('http://refused.example.com/')).toMatchObject({
      status: '502',
      proxy_upstream_name: 'default-refused-80',
      upstream_addr: `127.0.0.1:${REFUSING_PORT}`,
      upstream_status: '502',
    });
  });

  test('is written for a client that goes away, with 499', async () => {
    const outgoing = httpRequest({
      host: '127.0.0.1',
      port: gateway.httpPort,
      headers: { host: 'silent.example.com', 'x-request-id': 'gone' },
    });
    outgoing.on('error', () => {});
    outgoing.end();
    await silentAsked.promise;
    outgoing.destroy();
    expect(await logged('gone')).toMatchObject({ status: '499', proxy_upstream_name: 'default-silent-80' });
  });

  test('holds no quotes of a client', async () => {
    const line = await logOf(String.raw`http://web.example.com/?a="b\c`, {
      headers: { 'user-agent': String.raw`me" 200 \x` },
    });
    expect(line).toMatchObject({
      request: String.raw`GET /?a=\x22b\x5Cc HTTP/1.1`,
      http_user_agent: String.raw`me\x22 200 \x5Cx`,
    });
  });

  test('names the user, and no line but its own', async () => {
    const as = (credentials: string) => ({
      headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
    });
    expect(await logOf('http://web.example.com/', as('al"ice:secret'))).toMatchObject({
      remote_user: String.raw`al\x22ice`,
    });
    expect(await logOf('http://web.example.com/', as('a\r\n127.0.0.1 - b:c'))).toMatchObject({ remote_user: '-' });
    expect(gateway.log()).not.toContain('secret');
  });

  test('over TLS and HTTP/2', async () => {
    await sendHttp2({ port: gateway.httpsPort, host: 'web.example.com', headers: { 'x-request-id': 'h2' } });
    expect(await logged('h2')).toMatchObject({ request: 'GET / HTTP/2.0', proxy_upstream_name: 'default-web-80' });
  });
});

test('nothing is written without --access-log', async () => {
  const quiet = await startGateway({ manifests: [...services.manifests, to('web')] });
  try {
    await observe(quiet, { url: 'http://web.example.com/' });
    // Envoy has written everything when it has ended.
    await quiet.close();
    expect(quiet.log()).not.toContain('web.example.com');
    expect(quiet.log()).not.toContain('default-web-80');
  } finally {
    await quiet.close();
  }
});
