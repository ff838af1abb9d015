import { once } from 'node:events';
import { request } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { Agent } from 'node:https';
import { connect } from 'node:net';
import { text as streamText } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { echoPair } from '../cli/generated-certificate.ts';
import type { Ingress } from '../cluster/objects.ts';
import type { Address } from '../model/proxy-model.ts';
import { createEcho } from './echo.ts';
import { referencedServicePorts } from './service-ports.ts';

const web = { namespace: 'shop', service: 'web', port: 'http' };
const api = { namespace: 'shop', service: 'api', port: '8080' };
const echo = createEcho(echoPair);
afterEach(() => echo.close());

async function listenFor(ref: typeof web): Promise<Address> {
  const address = (await echo.ensure([ref])).get(`${ref.namespace}/${ref.service}/${ref.port}`);
  if (address === undefined) throw new Error('no address');
  return address;
}

async function ask(address: Address, method: string, path: string, body?: Uint8Array, headers: string[] = []) {
  const options = {
    host: address.ip,
    port: address.port,
    method,
    path,
    agent: false,
    headers: ['host', 'a', ...headers],
  };
  const sent = request(options);
  sent.end(body);
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, text };
}

it('shows what the Service would have received', async () => {
  const headers = ['X-Twice', '1', 'x-twice', '2', 'content-length', '5'];
  const { status, text } = await ask(await listenFor(web), 'PURGE', '/a%2Fb//?q=1?2', Buffer.from('hello'), headers);
  expect(status).toBe(200);
  expect(text.endsWith('}\n')).toBe(true);
  expect(JSON.parse(text)).toEqual({
    service: 'shop/web',
    port: 'http',
    method: 'PURGE',
    path: '/a%2Fb//',
    query: 'q=1?2',
    headers: { host: 'a', 'x-twice': '1, 2', 'content-length': '5', connection: 'close' },
    body: { bytes: 5, text: 'hello' },
  });
});

it('counts bodies that are large or no text', async () => {
  const address = await listenFor(web);
  const large = await ask(address, 'POST', '/', Buffer.alloc(3_000_000, 'x'));
  expect(JSON.parse(large.text)).toMatchObject({ body: { bytes: 3_000_000 } });
  expect(large.text.length).toBeLessThan(2000);
  const binary = await ask(address, 'POST', '/', Buffer.from([0xff, 0xfe]));
  expect((JSON.parse(binary.text) as { body: object }).body).toEqual({ bytes: 2 });
});

it('keeps the address of each Service port, until it is released', async () => {
  const first = await echo.ensure([web, api, web]);
  expect([...first.keys()]).toEqual(['shop/web/http', 'shop/api/8080']);
  expect(await echo.ensure([api, web])).toEqual(first);
  const address = await listenFor(web);
  await echo.release(web);
  await expect(ask(address, 'GET', '/')).rejects.toThrow('ECONNREFUSED');
  await ask(await listenFor(api), 'GET', '/');
});

it('keeps idle connections longer than proxies do', async () => {
  const { ip, port } = await listenFor(web);
  const sent = request({ host: ip, port, headers: { connection: 'keep-alive' } }).end();
  const [response] = await once(sent, 'response');
  expect(response.headers['keep-alive']).toBe('timeout=120');
  response.destroy();
});

/** A masked client frame. */
function frame(head: number, payload: Buffer, lengthField: number[]): Buffer {
  const mask = [1, 2, 3, 4];
  const masked = payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0));
  return Buffer.concat([Buffer.from([head, ...lengthField, ...mask]), masked]);
}

it('accepts WebSockets and sends every frame back', async () => {
  const { ip, port } = await listenFor(web);
  const socket = connect(port, ip);
  let received: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
  });
  const lines = ['GET /ws HTTP/1.1', 'host: a', 'connection: Upgrade', 'upgrade: websocket'];
  socket.write(`${[...lines, 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=='].join('\r\n')}\r\n\r\n`);
  await expect.poll(() => String(received)).toContain('\r\n\r\n');
  // The example of RFC 6455 §1.3.
  expect(String(received)).toContain('sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
  expect(String(received)).toContain('x-echo-service: shop/web');
  received = Buffer.alloc(0);
  const long = Buffer.alloc(70_000, 'y');
  const text = frame(0x81, Buffer.from('hello'), [0x85]);
  socket.write(text.subarray(0, 4));
  socket.write(text.subarray(4));
  socket.write(frame(0x82, long, [0xff, 0, 0, 0, 0, 0, 1, 0x11, 0x70]));
  socket.write(frame(0x89, Buffer.from('p'), [0x81]));
  socket.write(frame(0x88, Buffer.alloc(0), [0x80]));
  await once(socket, 'end');
  socket.end();
  const length = [0x7f, 0, 0, 0, 0, 0, 1, 0x11, 0x70];
  const expected = [Buffer.from([0x81, 5]), Buffer.from('hello'), Buffer.from([0x82, ...length]), long];
  expect(
    received.equals(Buffer.concat([...expected, Buffer.from([0x8a, 1]), Buffer.from('p\x88\x00', 'latin1')])),
  ).toBe(true);
});

it('lists the Service ports of an Ingress', () => {
  const backend = (name: string, port: object) => ({ service: { name, port } });
  const paths = [backend('web', { number: 80 }), backend('web', { name: 'http' }), backend('web', { number: 80 })];
  const ingress: Ingress = {
    kind: 'Ingress',
    namespace: 'shop',
    name: 'x',
    creationTimestamp: 0,
    annotations: {},
    tls: [],
    defaultBackend: backend('fallback', { number: 1 }),
    rules: [
      { paths: [...paths, { resource: { kind: 'a', name: 'b' } }, backend('x', {})].map((backend) => ({ backend })) },
    ],
  };
  expect(referencedServicePorts(ingress)).toEqual([
    { namespace: 'shop', service: 'fallback', port: '1' },
    { namespace: 'shop', service: 'web', port: '80' },
    { namespace: 'shop', service: 'web', port: 'http' },
  ]);
});

it('speaks TLS and HTTP/2 on the same port, and says so', async () => {
  const { ip, port } = await listenFor(web);
  const http1 = request({
    host: ip,
    port,
    protocol: 'https:',
    agent: new Agent({ rejectUnauthorized: false, servername: 'pod.example.com' }),
    headers: { host: 'a' },
  }).end();
  const [response] = await once(http1, 'response');
  expect(JSON.parse(await streamText(response))).toMatchObject({
    service: 'shop/web',
    tls: { serverName: 'pod.example.com' },
  });
  const plain = await askHttp2(connectHttp2(`http://${ip}:${port}`));
  expect(plain).toMatchObject({
    protocol: 'HTTP/2',
    method: 'PUT',
    path: '/x',
    headers: { host: 'b', twice: '1, 2' },
    body: { text: 'hello' },
  });
  expect(plain).not.toHaveProperty('tls');
  const secure = await askHttp2(connectHttp2(`https://${ip}:${port}`, { rejectUnauthorized: false }));
  expect(secure).toMatchObject({ protocol: 'HTTP/2', tls: { serverName: '' } });
});

async function askHttp2(session: ClientHttp2Session): Promise<unknown> {
  const stream = session.request({ ':method': 'PUT', ':path': '/x', ':authority': 'b', twice: ['1', '2'] });
  stream.end('hello');
  const text = await streamText(stream);
  session.close();
  return JSON.parse(text);
}

it.each([
  ['HTTP/1.1', 'PR', 'OPFIND / HTTP/1.1\r\nhost: a\r\n\r\n', 'HTTP/1.1 200 OK'],
  // An empty frame of SETTINGS, which is answered by one.
  ['HTTP/2', 'PRI * HTT', 'P/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', '\x04\0\0\0\0\0'],
])('waits until it is clear that it is %s', async (_, begin, rest, answer) => {
  const { ip, port } = await listenFor(web);
  const socket = connect(port, ip);
  socket.setNoDelay(true);
  await new Promise((resolve) => socket.write(begin, 'latin1', resolve));
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  await new Promise((resolve) => socket.write(rest, 'latin1', resolve));
  await expect.poll(() => received).toContain(answer);
  socket.destroy();
});

it('costs nothing while it waits', async () => {
  const { ip, port } = await listenFor(web);
  const socket = connect(port, ip);
  await new Promise((resolve) => socket.write('P', resolve));
  // An answer to another client shows that the first byte has been seen.
  await ask({ ip, port }, 'GET', '/');
  const { active } = performance.eventLoopUtilization(await idle());
  expect(active).toBeLessThan(IDLE_MS / 2);
  socket.end();
  await once(socket, 'close');
});

const IDLE_MS = 200;

/** The state of the event loop before a time in which nothing is to be done. */
async function idle() {
  const before = performance.eventLoopUtilization();
  await setTimeout(IDLE_MS);
  return before;
}

it('tells a client of gRPC whom it has called', async () => {
  const { ip, port } = await listenFor(web);
  const session = connectHttp2(`http://${ip}:${port}`);
  const stream = session.request({ ':method': 'POST', ':path': '/shop.Cart/Add', 'content-type': 'application/grpc' });
  stream.end();
  const [headers] = await once(stream, 'response');
  session.destroy();
  expect(headers).toMatchObject({
    ':status': 200,
    'content-type': 'application/grpc',
    'grpc-status': '12',
    'grpc-message': 'shop/web%20(port%20http)%20was%20called%20for%20/shop.Cart/Add',
  });
});
