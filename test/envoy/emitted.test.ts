import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Engine } from '../../src/derive.ts';
import { setStrict } from '../../src/envoy/codec.ts';
import { createEmitter } from '../../src/envoy/emit.ts';
import { createTestModel, forward, host, respond, type TestModel, TO_HTTPS } from '../../src/envoy/testing.ts';
import { createEncoder } from '../../src/envoy/wire-encoder.ts';
import { DEFAULT_CERTIFICATE, PrivateKey } from '../../src/model/proxy-model.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { peerCertificate, send, sendHttp2, sendRaw } from '../support/http-client.ts';
import { makePair } from '../support/pki.ts';
import { freePorts, REFUSING_PORT, type StaticEnvoy, startStaticEnvoy } from '../support/static-envoy.ts';

let envoy: StaticEnvoy;
let dns: DnsServer;
let httpPort = 0;
let httpsPort = 0;
const backend = createBackend();
const resetting = createResettingBackend();

beforeAll(async () => {
  setStrict(true);
  const [http, https] = (await freePorts(2)) as [number, number];
  httpPort = http;
  httpsPort = https;
  const engine = new Engine();
  const model = createTestModel(engine);
  const backendPort = await listen(backend);
  dns = await startDnsServer();
  dns.set('api.example.org', { addresses: ['127.0.0.1'] });
  dns.set('silent.example.org', 'silent');
  const emitter = createEmitter(engine, model, { ipv6: false, dnsServers: [dns.address] }, createEncoder());
  addService(model, 'web', [backendPort]);
  addName(model, 'known', 'api.example.org', backendPort);
  addName(model, 'unknown', 'unknown.example.org', backendPort);
  addName(model, 'silent', 'silent.example.org', backendPort);
  addService(model, 'resetting', [await listen(resetting.server)]);
  addService(model, 'refused', [REFUSING_PORT]);
  addService(model, 'half', [REFUSING_PORT, backendPort]);
  addService(model, 'empty', []);
  await addTls(model);
  model.listeners.set('http', { name: 'http', port: httpPort, serverNames: [] });
  addHosts(model);
  expect(engine.pass().failures).toEqual([]);
  const resources = emitter.resources.flatMap(({ typeUrl, table }) =>
    [...table.keys()].map((name) => ({ ...table.get(name)!, typeUrl })),
  );
  envoy = await startStaticEnvoy(resources);
});

afterAll(async () => {
  await envoy?.stop();
  await dns?.close();
  backend.closeAllConnections();
  backend.close();
  resetting.server.close();
});

function addHosts({ virtualHosts }: TestModel): void {
  virtualHosts.set('*', host('*', respond('=/healthz', 200), respond('/', 404)));
  virtualHosts.set(
    'plain.example.com',
    host(
      'plain.example.com',
      respond('=/exact', 200, 'exact\n'),
      respond('=/html', 404, '<p>own</p>'),
      forward('/resetting', 'resetting'),
      forward('/refused', 'refused'),
      forward('/half', 'half'),
      forward('/empty', 'empty'),
      forward('/api', 'web'),
      respond('/denied', 503),
      forward('/ws', 'web'),
      forward('/known', 'known'),
      forward('/unknown', 'unknown'),
      forward('/silent', 'silent'),
      respond('/', 404),
    ),
  );
  virtualHosts.set(
    'shop.example.com',
    host('shop.example.com', respond('/denied', 503), forward('/', 'web', TO_HTTPS)),
  );
}

async function addTls({ listeners, certificates }: TestModel): Promise<void> {
  const pairs = {
    [DEFAULT_CERTIFICATE]: 'ingress.local',
    'shop/tls': 'shop.example.com',
    'shop/wild': '*.example.com',
  };
  for (const [name, dnsName] of Object.entries(pairs)) {
    const { chain, key } = await makePair([dnsName]);
    certificates.set(name, {
      name,
      chain: Buffer.from(chain),
      key: new PrivateKey(key),
      dnsNames: [dnsName],
      notAfter: 0,
    });
  }
  const serverNames = [
    { name: '*.example.com', certificate: 'shop/wild' },
    { name: 'bare.example.com', certificate: DEFAULT_CERTIFICATE },
    { name: 'shop.example.com', certificate: 'shop/tls' },
  ];
  listeners.set('https', { name: 'https', port: httpsPort, serverNames });
}

function addService({ clusters, endpoints }: TestModel, service: string, ports: readonly number[]): void {
  const name = `shop/${service}/80`;
  clusters.set(name, { kind: 'endpoints', name, endpoints: name });
  endpoints.set(name, { name, addresses: ports.map((port) => ({ ip: '127.0.0.1', port })), diagnostics: [] });
}

function addName({ clusters }: TestModel, service: string, hostname: string, port: number): void {
  const name = `shop/${service}/80`;
  clusters.set(name, { kind: 'dns', name, hostname, port });
}

/** Answers with what it was asked; upgraded connections get every byte back. */
function createBackend(): Server {
  const server = createServer((request, response) => {
    response.setHeader('server', 'secret/1.0');
    request
      .resume()
      .on('end', () => response.end(JSON.stringify({ ...request.headers, url: request.url, method: request.method })));
  });
  server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    socket.on('error', () => {}).pipe(socket);
  });
  return server;
}

/** Reads a request and resets the connection. */
function createResettingBackend(): { server: TcpServer; received: string[] } {
  const received: string[] = [];
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (data) => {
      received.push(String(data).split(' ', 1)[0] ?? '');
      socket.resetAndDestroy();
    });
  });
  return { server, received };
}

async function listen(server: Server | TcpServer): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as { port: number }).port;
}

function get(path: string, headers: Record<string, string> = {}, hostName = 'plain.example.com') {
  return send({ port: httpPort, host: hostName, path, headers });
}

/** The status line of whatever answers these bytes. */
async function rawStatus(text: string): Promise<string> {
  return (await sendRaw(httpPort, text)).split('\r\n', 1)[0] ?? '';
}

describe('the redirect to https', () => {
  test.each([
    ['/', 'https://shop.example.com'],
    ['/a/b?x=1&y=/', 'https://shop.example.com/a/b?x=1&y='],
    ['/a/', 'https://shop.example.com/a'],
    ['/a/?x=1', 'https://shop.example.com/a/?x=1'],
  ])('leads %s to %s', async (path, location) => {
    const answer = await get(path, {}, 'shop.example.com:8080');
    expect([answer.status, answer.headers.location]).toEqual([308, location]);
    expect(answer.body).toContain('<center><h1>308 Permanent Redirect</h1></center>');
  });

  test('spares denied paths', async () => {
    expect((await get('/denied', {}, 'shop.example.com')).status).toBe(503);
  });

  test('does not believe a client that says it came over TLS', async () => {
    expect((await get('/', { 'x-forwarded-proto': 'https' }, 'shop.example.com')).status).toBe(308);
  });
});

describe('what a backend sees', () => {
  const expected = {
    'x-real-ip': '127.0.0.1',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': 'plain.example.com:8080',
  };

  test('over http', async () => {
    const answer = await get('/api?q=1', {}, 'plain.example.com:8080');
    const { 'x-request-id': id, ...headers } = JSON.parse(answer.body) as Record<string, string>;
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers).toEqual({
      ...expected,
      host: 'plain.example.com:8080',
      'x-forwarded-port': String(httpPort),
      'x-forwarded-proto': 'http',
      'x-forwarded-scheme': 'http',
      'x-scheme': 'http',
      url: '/api?q=1',
      method: 'GET',
    });
  });

  test('over HTTP/2 with TLS', async () => {
    const answer = await sendHttp2({ port: httpsPort, host: 'shop.example.com', path: '/x' });
    expect(JSON.parse(answer.body)).toMatchObject({
      host: 'shop.example.com',
      'x-forwarded-port': String(httpsPort),
      'x-forwarded-proto': 'https',
      'x-forwarded-scheme': 'https',
      'x-scheme': 'https',
    });
  });

  test('of headers that a client must not set', async () => {
    const answer = await get('/api', {
      'x-forwarded-for': '9.9.9.9',
      'x-original-forwarded-for': '8.8.8.8',
      'x-real-ip': '9.9.9.9',
      'x-forwarded-port': '1',
      'x-scheme': 'gopher',
      'x-envoy-retry-on': '5xx',
      'x-envoy-upstream-rq-timeout-ms': '1',
      proxy: 'http://evil',
      under_score: 'dropped',
      'x-request-id': 'kept-as-it-is',
    });
    const headers = JSON.parse(answer.body) as Record<string, string>;
    expect(headers).toMatchObject({
      'x-real-ip': '127.0.0.1',
      'x-forwarded-for': '127.0.0.1',
      'x-original-forwarded-for': '9.9.9.9',
      'x-forwarded-port': String(httpPort),
      'x-scheme': 'http',
      'x-request-id': 'kept-as-it-is',
    });
    expect(Object.keys(headers).filter((name) => /^(x-envoy-.*|proxy|under_score)$/.test(name))).toEqual([]);
  });

  test('the original of X-Forwarded-For is not what a client calls so', async () => {
    expect(JSON.parse((await get('/api', { 'x-original-forwarded-for': '8.8.8.8' })).body)).not.toHaveProperty(
      'x-original-forwarded-for',
    );
  });
});

describe('what a client sees', () => {
  test('HSTS over TLS, on errors too, and never over http; no name of a server', async () => {
    const secure = await send({ port: httpsPort, host: 'shop.example.com', tls: true });
    const unknown = await send({ port: httpsPort, host: 'unknown.example.org', tls: true });
    const plain = await get('/api');
    const hsts = 'strict-transport-security';
    expect([secure, unknown, plain].map(({ headers }) => headers[hsts])).toEqual([
      'max-age=31536000; includeSubDomains',
      'max-age=31536000; includeSubDomains',
      undefined,
    ]);
    for (const { headers } of [secure, unknown, plain]) {
      expect(Object.keys(headers).filter((name) => name === 'server' || name.startsWith('x-envoy'))).toEqual([]);
    }
  });

  test.each([
    ['/nowhere', 404, '404 Not Found'],
    ['/denied', 503, '503 Service Temporarily Unavailable'],
    ['/empty', 503, '503 Service Temporarily Unavailable'],
    ['/refused', 502, '502 Bad Gateway'],
    ['/resetting', 502, '502 Bad Gateway'],
  ])('%s: %i and its page', async (path, status, title) => {
    const answer = await get(path);
    expect([answer.status, answer.headers['content-type']]).toEqual([status, 'text/html']);
    expect(answer.body).toBe(
      `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n`,
    );
  });

  test('a body that a route has of its own', async () => {
    const exact = await get('/exact');
    expect([exact.status, exact.headers['content-type'], exact.body]).toEqual([200, 'text/plain', 'exact\n']);
    const html = await get('/html');
    expect([html.status, html.headers['content-type'], html.body]).toEqual([404, 'text/html', '<p>own</p>']);
    expect((await get('/healthz', {}, 'unknown.example.org')).status).toBe(200);
  });

  test('no HTML in a gRPC status', async () => {
    const answer = await get('/empty', { 'content-type': 'application/grpc' });
    expect(answer.headers).toMatchObject({ 'grpc-status': '14', 'grpc-message': 'no healthy upstream' });
  });
});

describe('retries', () => {
  test.each([
    ['GET', 3],
    ['PUT', 3],
    ['POST', 1],
    ['PATCH', 1],
    ['LOCK', 1],
  ])('a %s that reached a backend is sent %i times', async (method, times) => {
    resetting.received.length = 0;
    const answer = await send({ port: httpPort, host: 'plain.example.com', path: '/resetting', method });
    expect([answer.status, resetting.received]).toEqual([502, Array.from({ length: times }, () => method)]);
  });
});

describe('an endpoint that refuses connections', () => {
  test('is not noticed, also by a POST with a body of nearly 1 MiB', async () => {
    const post = {
      port: httpPort,
      host: 'plain.example.com',
      path: '/half',
      method: 'POST',
      body: 'x'.repeat(1024 * 1023),
    };
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(post)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });
});

describe('hosts', () => {
  test.each(['PLAIN.example.com', 'plain.example.com:1234', 'plain.example.com.', 'plain.example.com.:80'])(
    '%s is plain.example.com',
    async (name) => {
      expect((await get('/exact', {}, name)).status).toBe(200);
    },
  );

  test.each([
    ['two Hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n'],
    ['an empty Host', 'GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n'],
    ['no Host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ])('%s: 400', async (_what, text) => {
    expect(await rawStatus(text)).toBe('HTTP/1.1 400 Bad Request');
  });
});

describe('paths', () => {
  test.each([
    ['/api', 200],
    ['/api/', 200],
    ['/api/x', 200],
    ['//api//x', 200],
    ['/x/../api', 200],
    ['/apix', 404],
    ['/API', 404],
    ['/exact?x', 200],
    ['/exact/', 404],
  ])('%s: %i', async (path, status) => {
    expect((await get(path)).status).toBe(status);
  });
});

describe('protocols', () => {
  test('HTTP/1.0', async () => {
    expect(await rawStatus('GET /healthz HTTP/1.0\r\n\r\n')).toBe('HTTP/1.0 200 OK');
  });

  test('methods that Envoy does not know', async () => {
    const text = 'PURGE /api HTTP/1.1\r\nHost: plain.example.com\r\nConnection: close\r\n\r\n';
    expect(await sendRaw(httpPort, text)).toContain('"method":"PURGE"');
  });

  test('an offer of another protocol that is not taken', async () => {
    for (const token of ['TLS/1.0', 'HTTP/2.0', 'h2c']) {
      expect((await get('/exact', { connection: 'upgrade', upgrade: token })).status).toBe(200);
    }
  });

  test('a body above 1 MiB is refused, one of 1 MiB is not', async () => {
    const post = (bytes: number) =>
      send({ port: httpPort, host: 'plain.example.com', path: '/api', method: 'POST', body: 'x'.repeat(bytes) });
    expect((await post(1024 * 1024)).status).toBe(200);
    expect((await post(1024 * 1024 + 1)).status).toBe(413);
  });

  test('an upgraded connection carries more than that', async () => {
    expect(await echoedBytes(3 * 1024 * 1024)).toBe(3 * 1024 * 1024);
  });
});

/** Opens a WebSocket connection, sends that many bytes and counts what comes back. */
async function echoedBytes(bytes: number): Promise<number> {
  const socket = connect(httpPort, '127.0.0.1');
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let count = 0;
  let open = false;
  socket.on('error', reject).on('close', () => resolve(count));
  socket.on('data', (data) => {
    if (open) count += data.length;
    else {
      expect(String(data)).toMatch(/^HTTP\/1\.1 101 /);
      open = true;
      socket.write(Buffer.alloc(bytes, 1));
    }
    if (count >= bytes) socket.destroy();
  });
  socket.write('GET /ws HTTP/1.1\r\nHost: plain.example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  return promise;
}

describe('external names', () => {
  test('are resolved, and requests keep the Host that the client sent', async () => {
    const answer = await eventually(
      () => get('/known'),
      ({ status }) => status === 200,
    );
    expect(JSON.parse(answer.body).host).toBe('plain.example.com');
  });

  test.each(['/unknown', '/silent'])('%s: 503 while there is no address', async (path) => {
    expect((await get(path)).status).toBe(503);
  });
});

/** Names are resolved after the start, which does not wait for them. */
async function eventually<T>(attempt: () => Promise<T>, done: (outcome: T) => boolean): Promise<T> {
  const deadline = Date.now() + 5_000;
  for (;;) {
    const outcome = await attempt();
    if (done(outcome) || Date.now() > deadline) return outcome;
  }
}

describe('certificates', () => {
  test.each([
    ['shop.example.com', 'shop.example.com'],
    ['SHOP.example.com', 'shop.example.com'],
    ['other.example.com', '*.example.com'],
    ['a.b.example.com', 'ingress.local'],
    ['example.com', 'ingress.local'],
    ['bare.example.com', 'ingress.local'],
    ['unknown.example.org', 'ingress.local'],
    ['', 'ingress.local'],
  ])('%s gets the one of %s', async (serverName, commonName) => {
    expect((await peerCertificate(httpsPort, serverName)).subject.CN).toBe(commonName);
  });
});
