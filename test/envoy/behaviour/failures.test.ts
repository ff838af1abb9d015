/** What a client gets when a backend fails, and when a request is tried again. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Backend, startBackend } from '../../support/backend.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { sendRaw } from '../../support/http-client.ts';
import { endpointSlice, ingress, type Manifest, service } from '../../support/manifests.ts';
import { REFUSING_PORT } from '../../support/static-envoy.ts';
import { observe, testCases } from './cases.ts';
import { type DeafPort, startDeafPort } from './deaf-port.ts';
import { type RawBackend, startRawBackend } from './raw-backend.ts';

let gateway: Gateway;
let web: Backend;
let deaf: DeafPort;
let raw: readonly RawBackend[] = [];
let failing: Backend;
/** First lines of the requests that reached the backend that resets. */
let reset: string[] = [];

/** A Service with one endpoint per port, and an Ingress for the host `NAME.example.com`. */
function at(name: string, ...ports: readonly number[]): Manifest[] {
  return [
    service(name),
    ...ports.map((port, index) => endpointSlice(name, ['127.0.0.1'], { port, suffix: String(index) })),
    ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:80` }] }] }),
  ];
}

beforeAll(async () => {
  web = await startBackend('web');
  deaf = await startDeafPort();
  raw = await Promise.all([
    startRawBackend((socket, request) => {
      reset.push(request.split(' ', 1)[0] ?? '');
      socket.resetAndDestroy();
    }),
    startRawBackend((socket) => socket.end()),
    startRawBackend((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this', () => socket.resetAndDestroy());
    }),
    startRawBackend((socket) => socket.end('HTTP/1.1 2x0 no number\r\n\r\n')),
  ]);
  const [resetting = 0, closing = 0, cut = 0, invalid = 0] = raw.map(({ port }) => port);
  failing = await startBackend('failing', (request, response) => {
    response.writeHead(Number(request.url?.slice(1)), { 'content-type': 'text/plain' });
    response.end('said by the backend');
  });
  gateway = await startGateway({
    manifests: [
      ...at('web', web.port),
      ...at('refused', REFUSING_PORT),
      ...at('resetting', resetting),
      ...at('closing', closing),
      ...at('cut', cut),
      ...at('invalid', invalid),
      ...at('deaf', deaf.port),
      ...at('failing', failing.port),
      ...at('half-refused', web.port, REFUSING_PORT),
      ...at('half-resetting', web.port, resetting),
      ...at('three', REFUSING_PORT, resetting, web.port),
    ],
  });
});

afterAll(async () => {
  await gateway?.close();
  await Promise.all([web, failing, ...raw].map((part) => part?.close()));
  deaf?.close();
});

describe('a backend that fails', () => {
  const badGateway = { status: 502, text: '<center><h1>502 Bad Gateway</h1></center>' };
  testCases(
    () => gateway,
    [
      { url: 'http://refused.example.com/', ...badGateway, because: 'it refuses connections' },
      { url: 'https://refused.example.com/', ...badGateway },
      { url: 'http://resetting.example.com/', ...badGateway, because: 'it resets them' },
      { url: 'http://closing.example.com/', ...badGateway, because: 'it closes them without a word' },
      { url: 'http://invalid.example.com/', ...badGateway, because: 'it answers something else than HTTP' },
    ],
  );

  test('that does not take the connection in time: 504', { timeout: 40_000 }, async () => {
    const text = 'GET / HTTP/1.1\r\nHost: deaf.example.com\r\nConnection: close\r\n\r\n';
    const answer = await sendRaw(gateway.httpPort, text, { timeoutMs: 30_000 });
    expect(answer).toMatch(/^HTTP\/1\.1 504 Gateway Time-?out\r\n/i);
    expect(answer).toContain('<center><h1>504 Gateway Time-out</h1></center>');
  });

  test('in the middle of its answer cuts the connection of the client', async () => {
    await expect(observe(gateway, { url: 'http://cut.example.com/' })).rejects.toThrow();
  });

  test('tells a gRPC client by a gRPC status, without HTML', async () => {
    const { answer } = await observe(gateway, {
      url: 'https://refused.example.com/pkg.Service/Method',
      method: 'POST',
      headers: { 'content-type': 'application/grpc', te: 'trailers' },
    });
    expect([answer.status, answer.headers['grpc-status']]).toEqual([200, '14']);
    expect(answer.headers['grpc-message']).not.toMatch(/</);
  });
});

describe('an error that a backend answers is passed on as it is', () => {
  testCases(
    () => gateway,
    [400, 401, 403, 404, 413, 429, 500, 502, 503, 504].map((status) => ({
      url: `http://failing.example.com/${status}`,
      status,
      answered: { 'content-type': 'text/plain' },
      text: 'said by the backend',
    })),
  );
});

describe('a request is tried again at another endpoint', () => {
  /** Statuses of ten requests, one after another: both endpoints get their turn. */
  async function statuses(host: string, method: string): Promise<Set<number>> {
    const seen = new Set<number>();
    for (let count = 0; count < 10; count += 1) {
      const { answer } = await observe(gateway, { url: `http://${host}.example.com/`, method, body: 'x' });
      seen.add(answer.status);
    }
    return seen;
  }

  test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'POST', 'PATCH'])('%s, when one refuses', async (method) => {
    expect(await statuses('half-refused', method)).toEqual(new Set([200]));
  });

  test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])('%s, when one resets', async (method) => {
    reset = [];
    expect(await statuses('half-resetting', method)).toEqual(new Set([200]));
    expect(reset.length).toBeGreaterThan(0);
  });

  test.each(['POST', 'PATCH', 'LOCK'])('%s, but not once it was sent', async (method) => {
    reset = [];
    expect(await statuses('half-resetting', method)).toEqual(new Set([200, 502]));
    expect(reset).toEqual(Array.from({ length: 5 }, () => method));
  });

  test('twice', async () => {
    expect(await statuses('three', 'GET')).toEqual(new Set([200]));
  });

  test.each([
    ['GET', 3],
    ['POST', 1],
  ])('%s: %i times at most', async (method, times) => {
    reset = [];
    expect((await observe(gateway, { url: 'http://resetting.example.com/', method })).answer.status).toBe(502);
    expect(reset).toEqual(Array.from({ length: times }, () => method));
  });

  test('with its body', async () => {
    for (let count = 0; count < 4; count += 1) {
      const body = `body ${count} ${'x'.repeat(100_000)}`;
      const { received } = await observe(gateway, { url: 'http://half-resetting.example.com/', method: 'PUT', body });
      expect(received?.body).toBe(body);
    }
  });

  test('an error that a backend answers is no reason', async () => {
    const { answer } = await observe(gateway, { url: 'http://failing.example.com/503' });
    expect(answer.status).toBe(503);
  });
});
