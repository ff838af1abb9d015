import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import type { Ingress } from '../cluster/objects.ts';
import type { Address } from '../model/proxy-model.ts';
import { createEcho } from './echo.ts';
import { referencedServicePorts } from './service-ports.ts';

const web = { namespace: 'shop', service: 'web', port: 'http' };
const api = { namespace: 'shop', service: 'api', port: '8080' };
const echo = createEcho();
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
