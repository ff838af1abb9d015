import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Backend, startBackend } from '../../support/backend.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { sendHttp2, sendRaw } from '../../support/http-client.ts';
import { ingress, service } from '../../support/manifests.ts';
import { observe, type Services, startServices, testCases } from './cases.ts';

const MIB = 1024 * 1024;
const LARGE = 'x'.repeat(15 * 1024);

let gateway: Gateway;
let services: Services;
let streaming: Backend;
let large: Backend;
/** The streaming backend goes on once the client has seen the beginning. */
const firstArrived = Promise.withResolvers<void>();

beforeAll(async () => {
  services = await startServices('web');
  streaming = await startBackend('streaming', async (request, response) => {
    request.resume();
    response.write('first');
    await firstArrived.promise;
    response.end('second');
  });
  large = await startBackend('large', (_request, response) => {
    response.writeHead(200, { 'x-large': LARGE });
    response.end();
  });
  gateway = await startGateway({
    manifests: [
      ...services.manifests,
      service('streaming'),
      streaming.slice('streaming'),
      service('large'),
      large.slice('large'),
      ingress({
        name: 'secure',
        rules: [{ host: 'secure.example.com', paths: [{}] }],
        tls: [{ hosts: ['secure.example.com'] }],
      }),
      ingress({ name: 'missing', rules: [{ host: 'missing.example.com', paths: [{ service: 'nowhere:80' }] }] }),
      ...['web', 'streaming', 'large'].map((name) =>
        ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:80` }] }] }),
      ),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all([services, streaming, large].map((part) => part?.close()));
});

/** A request of raw lines to `web.example.com`, on a connection that ends with it. */
function raw(requestLine: string, headers: readonly string[] = [], body = ''): Promise<string> {
  const lines = [requestLine, 'Host: web.example.com', 'Connection: close', ...headers];
  return sendRaw(gateway.httpPort, `${lines.join('\r\n')}\r\n\r\n${body}`);
}

describe('bodies', () => {
  test.each([
    ['http', MIB, 200],
    ['http', MIB + 1, 413],
    ['https', MIB, 200],
    ['https', MIB + 1, 413],
  ])('%s: %i bytes: %i', async (scheme, bytes, status) => {
    const url = `${scheme}://web.example.com/`;
    const { answer, received } = await observe(gateway, { url, method: 'POST', body: 'x'.repeat(bytes) });
    expect([answer.status, received?.body.length]).toEqual([status, status === 200 ? bytes : undefined]);
    if (status === 413) expect(answer.body).toContain('<center><h1>413 Request Entity Too Large</h1></center>');
  });

  test.each([
    [MIB, /^HTTP\/1\.1 200 /],
    [MIB + 1, /^HTTP\/1\.1 413 /],
  ])('in chunks: %i bytes', async (bytes, status) => {
    const chunk = `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n0\r\n\r\n`;
    expect(await raw('POST / HTTP/1.1', ['Transfer-Encoding: chunked'], chunk)).toMatch(status);
  });

  describe('one that is too large', () => {
    const tooLarge = { method: 'POST', body: 'x'.repeat(MIB + 1), status: 413 };
    testCases(
      () => gateway,
      [
        { url: 'http://secure.example.com/', ...tooLarge, because: 'it is refused before it is redirected' },
        { url: 'http://unknown.example.org/', ...tooLarge },
        { url: 'http://missing.example.com/', ...tooLarge, because: 'it is refused before a backend is looked for' },
      ],
    );

    test('over HTTP/2', async () => {
      const answer = await sendHttp2({ port: gateway.httpsPort, host: 'web.example.com', ...tooLarge });
      expect(answer.status).toBe(413);
    });
  });

  test('a client that asks whether it may send one is told so', async () => {
    const answer = await raw('POST / HTTP/1.1', ['Expect: 100-continue', 'Content-Length: 2'], 'ab');
    expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
  });

  test('an empty one', async () => {
    const { received } = await observe(gateway, { url: 'http://web.example.com/', method: 'POST', body: '' });
    expect(received).toMatchObject({ method: 'POST', body: '' });
  });

  test('an answer arrives while it is written', async () => {
    const outgoing = httpRequest({
      port: gateway.httpPort,
      host: '127.0.0.1',
      headers: { host: 'streaming.example.com' },
    });
    const [response] = (await once(outgoing.end(), 'response')) as [IncomingMessage];
    const [first] = await once(response.setEncoding('utf8'), 'data');
    firstArrived.resolve();
    const [second] = await once(response, 'data');
    expect([first, second]).toEqual(['first', 'second']);
  });

  test('a length and chunks at once are refused', async () => {
    const headers = ['Content-Length: 5', 'Transfer-Encoding: chunked'];
    expect(await raw('POST / HTTP/1.1', headers, '0\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('headers', () => {
  test('30 KiB of them arrive', async () => {
    const cookie = 'x'.repeat(30 * 1024);
    const { received } = await observe(gateway, { url: 'http://web.example.com/', headers: { cookie } });
    expect(received?.headers.cookie).toBe(cookie);
  });

  test('more than 32 KiB are refused', async () => {
    const headers = { cookie: 'x'.repeat(40 * 1024) };
    const { answer } = await observe(gateway, { url: 'http://web.example.com/', headers });
    expect(answer.status).toBe(400);
    expect(answer.body).toContain('<center>Request Header Or Cookie Too Large</center>');
  });

  test('more than 200 of them are refused', async () => {
    const headers = Array.from({ length: 201 }, (_, index) => `x-${index}: 1`);
    expect(await raw('GET / HTTP/1.1', headers)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  });

  test('150 of them arrive', async () => {
    const headers = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`x-${index}`, '1']));
    const { received } = await observe(gateway, { url: 'http://web.example.com/', headers });
    expect(received?.headers['x-149']).toBe('1');
  });

  test('16 KiB of them come back', async () => {
    const { answer } = await observe(gateway, { url: 'http://large.example.com/' });
    expect(answer.headers['x-large']).toBe(LARGE);
  });

  test('a name that is none is refused', async () => {
    expect(await raw('GET / HTTP/1.1', ['bad name: 1'])).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('what is no request is refused', () => {
  test.each([
    ['a path with a NUL', 'GET /%00 HTTP/1.1'],
    ['a path with a space', 'GET /a b HTTP/1.1'],
    ['a path with a fragment', 'GET /a#b HTTP/1.1'],
    ['a path without a slash', 'GET x HTTP/1.1'],
    ['an escape without its digits', 'GET /a%zz HTTP/1.1'],
    ['an escape with half of its digits', 'GET /a%4 HTTP/1.1'],
    ['an escape without a digit at the end, before a query', 'GET /a%?b=%20 HTTP/1.1'],
    ['no path at all', 'OPTIONS * HTTP/1.1'],
    ['a tunnel', 'CONNECT web.example.com:80 HTTP/1.1'],
    ['words', 'hello'],
  ])('%s', async (_what, line) => {
    expect(await raw(line)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  });

  test('with the page of nginx', async () => {
    expect(await raw('GET /%zz HTTP/1.1')).toContain('<center><h1>400 Bad Request</h1></center>');
  });

  test('but a query may hold anything', async () => {
    expect(await raw('GET /a%20b?c=%zz&% HTTP/1.1')).toContain('"url":"/a%20b?c=%zz&%"');
  });
});
