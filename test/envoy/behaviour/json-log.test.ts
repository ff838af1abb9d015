/** Lines of JSON, read as programs read them, whatever Envoy cannot say of a request. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Backend, startBackend } from '../../support/backend.ts';
import { type Gateway, poll, startGateway } from '../../support/gateway.ts';
import { configMap, ingress, service } from '../../support/manifests.ts';
import { observe, type Services, startServices } from './cases.ts';

/** Each as a value of its own: numbers, or null. */
const NUMBERS = [
  'connection_requests',
  'geoip2_latitude',
  'status',
  'upstream_status',
  'upstream_response_time',
  'upstream_response_length',
  'upstream_connect_time',
  'upstream_header_time',
  'upstream_bytes_sent',
  'content_length',
  'sent_http_content_length',
  'bytes_sent',
  'body_bytes_sent',
  'request_length',
  'request_time',
  'msec',
  'http_x_number',
  'arg_number',
  'cookie_number',
];
const FORMAT = `{${NUMBERS.map((name) => `"${name}": $${name}`).join(', ')}, "id": "$req_id", "pid": "$pid", "args": "$args", "cost": "5$literal_dollar"}`;

let gateway: Gateway;
let services: Services;
let silent: Backend;
const silentAsked = Promise.withResolvers<void>();

beforeAll(async () => {
  services = await startServices('web');
  silent = await startBackend('silent', () => silentAsked.resolve());
  gateway = await startGateway({
    emit: { accessLog: true },
    build: { configMap: 'default/config' },
    manifests: [
      ...services.manifests,
      service('silent'),
      silent.slice('silent'),
      configMap('config', { 'log-format-upstream': FORMAT, 'log-format-escape-json': 'true' }),
      ...['web', 'silent'].map((name) =>
        ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:80` }] }] }),
      ),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all([services, silent].map((part) => part?.close()));
});

async function lineOf(id: string): Promise<unknown> {
  const line = () =>
    gateway
      .log()
      .split('\n')
      .find((one) => one.includes(`"${id}"`));
  await poll(
    () => line() !== undefined,
    () => `no line of ${id} in:\n${gateway.log()}`,
  );
  return JSON.parse(line() ?? '');
}

const NEVER_KNOWN = { connection_requests: null, geoip2_latitude: null, pid: '', cost: '5$' };

test('what Envoy never says, and what this request has not, is null outside of quotes and nothing inside', async () => {
  await observe(gateway, { url: 'http://nobody.example.com/', headers: { 'x-request-id': 'id-nobody' } });
  expect(await lineOf('id-nobody')).toMatchObject({
    ...NEVER_KNOWN,
    status: 404,
    upstream_status: null,
    upstream_response_time: null,
    upstream_response_length: null,
    upstream_connect_time: null,
    content_length: null,
    http_x_number: null,
    arg_number: null,
    cookie_number: null,
    args: '',
  });
});

test('what a request has stays a number', async () => {
  await observe(gateway, {
    url: 'http://web.example.com/?number=1',
    method: 'POST',
    body: 'four',
    headers: { 'x-request-id': 'id-web', 'x-number': '2', cookie: 'number=3' },
  });
  expect(await lineOf('id-web')).toMatchObject({
    ...NEVER_KNOWN,
    status: 200,
    upstream_status: 200,
    upstream_response_time: expect.any(Number),
    upstream_connect_time: expect.any(Number),
    content_length: 4,
    http_x_number: 2,
    arg_number: 1,
    cookie_number: 3,
    args: 'number=1',
  });
});

test('a client that went away before there was an answer', async () => {
  const client = connect(gateway.httpPort, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: silent.example.com\r\nX-Request-Id: id-gone\r\n\r\n');
  await silentAsked.promise;
  client.destroy();
  expect(await lineOf('id-gone')).toMatchObject({
    ...NEVER_KNOWN,
    status: 499,
    upstream_status: null,
    sent_http_content_length: null,
  });
});
