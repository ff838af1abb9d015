/** The socket on which nginx takes changes at run time: what it refuses, how much it carries, and what that costs. */
import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { configurationSocket } from '../../src/nginx/dynamic.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { send } from '../support/http-client.ts';
import { ingress, type Manifest, service } from '../support/manifests.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';
import { workersOf } from './support/workers.ts';

let gateway: NginxGateway;
let backend: Backend;

beforeEach(async () => {
  backend = await startBackend('pod');
});
afterEach(async () => {
  await gateway.close();
  await backend.close();
});

function site(index: number): Manifest[] {
  const name = `site-${index}`;
  return [
    ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:80` }] }] }),
    service(name),
    backend.slice(name),
  ];
}

async function call(
  method: string,
  path: string,
  body?: string | Buffer,
): Promise<{ readonly status: number; readonly text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const outgoing = request(
    { socketPath: configurationSocket(gateway.folder), method, path, agent: false },
    (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    },
  );
  outgoing.on('error', reject);
  outgoing.end(body);
  return promise;
}

async function checksum(): Promise<string> {
  return (await call('GET', '/checksum')).text;
}

async function status(index = 0): Promise<number> {
  return (await send({ port: gateway.httpPort, host: `site-${index}.example.com` })).status;
}

describe('what is no update', () => {
  beforeEach(async () => {
    gateway = await startNginxGateway({ manifests: site(0) });
  });

  const update = (parts: object) => JSON.stringify({ checksum: 'mine', ...parts });
  test.each([
    ['no JSON', 'nonsense'],
    ['nothing', ''],
    ['a list', '[]'],
    ['a text', '"text"'],
    ['a number', '1e999'],
    ['null', 'null'],
    ['without a checksum', '{}'],
    ['with a checksum that is no text', '{"checksum":{"a":1}}'],
    ['deeply nested', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['binary', Buffer.from([0, 255, 254, 0, 123])],
    ['with backends that are a text', update({ backends: 'x' })],
    ['with backends that are a list', update({ backends: [[['127.0.0.1', 80]]] })],
    ['with a backend that is a number', update({ backends: { a: 1 } })],
    ['with a peer that is a text', update({ backends: { a: ['127.0.0.1:80'] } })],
    ['with a peer without a port', update({ backends: { a: [['127.0.0.1']] } })],
    ['with a peer whose port is a text', update({ backends: { a: [['127.0.0.1', '80']] } })],
    ['with a peer whose address is null', update({ backends: { a: [[null, 80]] } })],
    ['with peers that have names', update({ backends: { a: { x: ['127.0.0.1', 80] } } })],
    ['with certificates that are a list', update({ certificates: ['x'] })],
    ['with a certificate that is a number', update({ certificates: { a: 1 } })],
    ['with a certificate that is true', update({ certificates: { a: true } })],
    ['with a name that is an object', update({ names: { a: {} } })],
    ['with names that are true', update({ names: true })],
    ['with a base that is no text', update({ base: { a: 1 } })],
  ])('%s is refused, and changes nothing', async (_, body) => {
    const before = await checksum();
    const answer = await call('POST', '/update', body);
    expect([400, 409]).toContain(answer.status);
    expect(await checksum()).toBe(before);
    expect(await status()).toBe(200);
    expect(gateway.log()).not.toMatch(/\[(error|crit|alert|emerg)\]/);
  });

  test.each([
    ['GET', '/'],
    ['GET', '/update'],
    ['POST', '/checksum'],
    ['DELETE', '/update'],
    ['GET', '/../checksum/..'],
  ])('%s %s is answered 4xx', async (method, path) => {
    const { status } = await call(method, path);
    expect([400, 404, 405]).toContain(status);
  });

  test('an update of something else is answered 409 with what is in force', async () => {
    const answer = await call('POST', '/update', update({ base: 'other', backends: { default_site_0: null } }));
    expect(answer).toEqual({ status: 409, text: await checksum() });
    expect(await status()).toBe(200);
  });

  test('whoever takes the place of the control plane gets no key out', async () => {
    for (const path of ['/', '/certificates', '/configuration/certificates', '/checksum']) {
      expect((await call('GET', path)).text).not.toContain('PRIVATE KEY');
    }
  });

  test('a certificate that cannot be read leaves the handshake to the default one', async () => {
    const names = { 'site-0.example.com': 'broken' };
    const { status: code } = await call(
      'POST',
      '/update',
      update({ base: await checksum(), certificates: { broken: 'nonsense' }, names }),
    );
    expect(code).toBe(200);
    expect((await send({ port: gateway.httpsPort, host: 'site-0.example.com', tls: true })).status).toBe(200);
  });

  test('is not for other users of the machine', async () => {
    expect((await stat(gateway.folder)).mode & 0o077).toBe(0);
  });

  test('a body that does not end holds up nobody', async () => {
    const socket = connect(configurationSocket(gateway.folder));
    socket.write('POST /update HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n{');
    socket.on('error', () => {});
    await gateway.apply(...site(1));
    expect(await status(1)).toBe(200);
    socket.destroy();
  });
});

const UPSTREAMS = 1_000;

test(`${UPSTREAMS} upstreams: one reload brings all, whatever their addresses become costs none, and memory does not grow`, {
  timeout: 120_000,
}, async () => {
  gateway = await startNginxGateway({
    manifests: Array.from({ length: UPSTREAMS }, (_, index) => site(index)).flat(),
  });
  expect(await Promise.all([0, 499, 999].map(status))).toEqual([200, 200, 200]);
  const [worker = 0] = await workersOf(gateway.pid);
  const moved = await startBackend('moved');
  try {
    // The whole list again and again, each with other addresses, as a cluster would whose pods all move.
    const round = (to: Backend) => gateway.apply(...Array.from({ length: UPSTREAMS }, (_, index) => slices(to, index)));
    const visit = () => Promise.all(Array.from({ length: 50 }, (_, index) => status(index * 20)));
    for (let count = 0; count < 3; count++) {
      await round(moved);
      await round(backend);
    }
    await visit();
    const before = residentKib(worker);
    for (let count = 0; count < 10; count++) {
      await round(count % 2 === 0 ? moved : backend);
      expect(new Set(await visit())).toEqual(new Set([200]));
    }
    expect(residentKib(worker) - before).toBeLessThan(8 * 1024);
    expect(gateway.outcomes).toMatchObject([{ kind: 'loaded' }]);
    expect(await workersOf(gateway.pid)).toEqual([worker]);
  } finally {
    await moved.close();
  }
});

function slices(to: Backend, index: number): Manifest {
  return to.slice(`site-${index}`, { suffix: 'pod' });
}

function residentKib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
