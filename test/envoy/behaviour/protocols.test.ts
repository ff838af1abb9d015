import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as http2Connect } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Backend, startBackend } from '../../support/backend.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { sendHttp2, sendRaw } from '../../support/http-client.ts';
import { endpointSlice, ingress, service } from '../../support/manifests.ts';
import { observe, type Services, startServices, testCases } from './cases.ts';
import { type RawBackend, startRawBackend } from './raw-backend.ts';
import { openWebSocket, startUpgradingBackend, type UpgradingBackend } from './upgrade.ts';

const MIB = 1024 * 1024;

let gateway: Gateway;
let services: Services;
let upgrading: UpgradingBackend;
let declining: Backend;
let plain: Backend;
/** Of the gateway to the backend `plain`. */
const connections = new Set<Socket>();
/** Answers with the first line of the request. */
let firstLine: RawBackend;

beforeAll(async () => {
  services = await startServices('web');
  plain = await startBackend('plain', (request, response) => {
    connections.add(request.socket);
    response.end();
  });
  declining = await startBackend('declining', (request, response) => {
    response.writeHead(Number(request.url?.slice(1)), { location: '/elsewhere' });
    response.end('declined');
  });
  firstLine = await startRawBackend((socket, request) => {
    const body = request.split('\r\n', 1)[0] ?? '';
    socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  });
  upgrading = await startUpgradingBackend();
  gateway = await startGateway({
    manifests: [
      ...services.manifests,
      service('upgrading'),
      upgrading.slice('upgrading'),
      service('declining'),
      declining.slice('declining'),
      service('plain'),
      plain.slice('plain'),
      service('first-line'),
      endpointSlice('first-line', ['127.0.0.1'], { port: firstLine.port }),
      ...['web', 'upgrading', 'declining', 'plain', 'first-line'].map((name) =>
        ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:80` }] }] }),
      ),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all([services, upgrading, declining, plain, firstLine].map((part) => part?.close()));
});

describe('methods', () => {
  testCases(
    () => gateway,
    ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND', 'REPORT', 'PURGE'].map((method) => ({
      url: 'http://web.example.com/',
      method,
      backend: 'web',
    })),
  );

  describe('TRACE', () => {
    const refused = { method: 'TRACE', status: 405, text: '<center><h1>405 Not Allowed</h1></center>' };
    testCases(
      () => gateway,
      [
        { url: 'http://web.example.com/', ...refused },
        { url: 'https://web.example.com/', ...refused },
        { url: 'http://unknown.example.org/', ...refused },
      ],
    );

    test('over HTTP/2', async () => {
      const answer = await sendHttp2({ port: gateway.httpsPort, host: 'web.example.com', method: 'TRACE' });
      expect(answer.status).toBe(405);
    });
  });

  test('HEAD has no body', async () => {
    const { answer } = await observe(gateway, { url: 'http://web.example.com/', method: 'HEAD' });
    expect([answer.status, answer.headers['content-type'], answer.body]).toEqual([200, 'application/json', '']);
    const missing = await observe(gateway, { url: 'http://unknown.example.org/', method: 'HEAD' });
    expect([missing.answer.status, missing.answer.body]).toEqual([404, '']);
  });

  test('one that nobody has heard of reaches the backend', async () => {
    const text = 'FOO /x HTTP/1.1\r\nHost: first-line.example.com\r\nConnection: close\r\n\r\n';
    expect(await sendRaw(gateway.httpPort, text)).toContain('\r\n\r\nFOO /x HTTP/1.1');
  });
});

describe('HTTP/1.0', () => {
  test('with a Host', async () => {
    const answer = await sendRaw(gateway.httpPort, 'GET /x HTTP/1.0\r\nHost: web.example.com\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.0 200 OK\r\n/);
    expect(answer).toContain('"url":"/x"');
  });

  test('without a Host: the default server', async () => {
    expect(await sendRaw(gateway.httpPort, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.0 404 /);
  });
});

describe('HTTP/2', () => {
  test('over TLS, as it is negotiated', async () => {
    const answer = await sendHttp2({ port: gateway.httpsPort, host: 'web.example.com', method: 'POST', body: 'x' });
    expect(JSON.parse(answer.body)).toMatchObject({ backend: 'web', method: 'POST', body: 'x' });
  });

  test('without TLS, for a client that knows', async () => {
    const session = http2Connect(`http://127.0.0.1:${gateway.httpPort}`);
    const stream = session.request({ ':authority': 'web.example.com', ':path': '/' });
    const [headers] = (await once(stream, 'response')) as [{ ':status': number }];
    expect(headers[':status']).toBe(200);
    session.destroy();
  });

  test('fifty requests at once on one connection', async () => {
    const session = http2Connect(`https://127.0.0.1:${gateway.httpsPort}`, { rejectUnauthorized: false });
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const stream = session.request({ ':authority': 'web.example.com', ':path': '/' });
        const [headers] = (await once(stream, 'response')) as [{ ':status': number }];
        stream.resume();
        return headers[':status'];
      }),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    session.destroy();
  });
});

describe('keep-alive', () => {
  test('a connection serves many requests, and ends after a thousand', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<Socket>();
    const closes: number[] = [];
    for (let count = 1; count <= 1001; count += 1) {
      const response = await keptAlive(agent, sockets);
      if (response.headers.connection === 'close') closes.push(count);
    }
    expect(closes).toEqual([1000]);
    expect(sockets.size).toBe(2);
    agent.destroy();
  });

  test('the connections to a backend outlive those of clients', async () => {
    connections.clear();
    for (let count = 0; count < 10; count += 1) await observe(gateway, { url: 'http://plain.example.com/' });
    expect(connections.size).toBe(1);
  });

  test('a refused body closes only its own connection', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<Socket>();
    await keptAlive(agent, sockets);
    await observe(gateway, { url: 'http://web.example.com/', method: 'POST', body: 'x'.repeat(MIB + 1) });
    await keptAlive(agent, sockets);
    expect(sockets.size).toBe(1);
    agent.destroy();
  });
});

async function keptAlive(agent: Agent, sockets: Set<Socket>): Promise<IncomingMessage> {
  const outgoing = httpRequest({
    host: '127.0.0.1',
    port: gateway.httpPort,
    path: '/',
    headers: { host: 'web.example.com' },
    agent,
  });
  outgoing.on('socket', (socket) => sockets.add(socket));
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response;
}

describe('upgrades', () => {
  test.each(['websocket', 'WebSocket', 'SPDY/3.1'])('%s: bytes go both ways', async (protocol) => {
    const socket = await openWebSocket(gateway.httpPort, 'upgrading.example.com', protocol);
    expect(socket.head).toMatch(/^HTTP\/1\.1 101 /);
    expect(await socket.exchange('hello')).toBe('hello');
    expect(await socket.exchange('again')).toBe('again');
    socket.close();
  });

  test('more bytes than a body may have', async () => {
    const socket = await openWebSocket(gateway.httpPort, 'upgrading.example.com', 'websocket');
    const text = 'x'.repeat(3 * MIB);
    expect(await socket.exchange(text)).toBe(text);
    socket.close();
  });

  test('the backend sees the request and its headers', async () => {
    const socket = await openWebSocket(gateway.httpPort, 'upgrading.example.com', 'websocket', '/chat?room=1');
    expect(upgrading.requests.at(-1)).toMatchObject({
      url: '/chat?room=1',
      headers: { upgrade: 'websocket', 'x-real-ip': '127.0.0.1', 'x-forwarded-proto': 'http' },
    });
    socket.close();
  });

  test.each([
    ['/426', 426, 'declined'],
    // Envoy passes on an answer below 400 without its body.
    ['/302', 302, undefined],
  ])('a backend that declines by %s', async (path, status, text) => {
    const headers = { connection: 'upgrade', upgrade: 'websocket' };
    const { answer } = await observe(gateway, { url: `http://declining.example.com${path}`, headers });
    expect([answer.status, answer.headers.location]).toEqual([status, '/elsewhere']);
    if (text !== undefined) expect(answer.body).toBe(text);
  });

  test.each(['TLS/1.0', 'HTTP/2.0', 'h2c'])(
    'an offer of %s is not taken, and the request is served',
    async (protocol) => {
      const { received } = await observe(gateway, {
        url: 'http://web.example.com/',
        headers: { connection: 'upgrade', upgrade: protocol },
      });
      expect(received?.backend).toBe('web');
    },
  );
});

describe('a client that is slow', () => {
  test('is waited for', async () => {
    const socket = connect({ port: gateway.httpPort, host: '127.0.0.1' });
    const parts = [
      'POST / HTTP/1.1\r\nHost: web.exam',
      'ple.com\r\nConnection: close\r\n',
      'Content-Length: 4\r\n\r\nab',
      'cd',
    ];
    for (const part of parts) {
      socket.write(part);
      await delay(50);
    }
    let text = '';
    socket.setEncoding('utf8').on('data', (data: string) => {
      text += data;
    });
    await once(socket, 'close');
    expect(text).toContain('"body":"abcd"');
  });
});
