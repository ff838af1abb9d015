/** Methods, versions of HTTP, bodies, and what is no request. */
import { once } from 'node:events';
import { connect as http2Connect } from 'node:http2';
import { startServices } from '../../envoy/behaviour/cases.ts';
import { startRawBackend } from '../../envoy/behaviour/raw-backend.ts';
import { openWebSocket, startUpgradingBackend } from '../../envoy/behaviour/upgrade.ts';
import { startBackend } from '../../support/backend.ts';
import { sendHttp2, sendRaw } from '../../support/http-client.ts';
import { endpointSlice, ingress, service } from '../../support/manifests.ts';
import { type Exchange, table } from '../table.ts';

const MIB = 1024 * 1024;
const CLOSE = ['Host: web.example.com', 'Connection: close'];

/** What came back, in short: the first line of each head, and what the backend received. */
function shortened(answer: string): unknown {
  const heads = [...answer.matchAll(/^HTTP\/\S+ \d+/gm)].map(([line]) => line);
  const [, json] = /(\{"backend":.*\})/.exec(answer) ?? [];
  if (json === undefined) return { heads };
  const { backend, method, url, body } = JSON.parse(json) as Record<string, string>;
  return { heads, received: `${backend} ${method} ${url} ${body}`.trim() };
}

/** Lines of a request, without the empty one at the end. */
function raw(
  title: string,
  lines: readonly string[],
  expected: unknown,
  more: Partial<Exchange> & { body?: string } = {},
): Exchange {
  const { body = '', ...rest } = more;
  const text = `${lines.join('\r\n')}\r\n\r\n${body}`;
  return { title, run: async ({ httpPort }) => shortened(await sendRaw(httpPort, text)), expected, ...rest };
}

const refused = { heads: ['HTTP/1.1 400'] };

function served(received: string, heads: readonly string[] = ['HTTP/1.1 200']) {
  return { heads, received };
}

export const messages = table({
  start: async () => {
    const services = await startServices('web');
    const upgrading = await startUpgradingBackend();
    // Takes bytes that an HTTP server would not.
    const firstLine = await startRawBackend((socket) => {
      socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    });
    const declining = await startBackend('declining', (request, response) => {
      response.writeHead(Number(request.url?.slice(1)), { location: '/elsewhere' });
      response.end('declined');
    });
    return {
      close: async () => {
        await Promise.all([services, upgrading, declining, firstLine].map((part) => part.close()));
      },
      manifests: [
        ...services.manifests,
        service('upgrading'),
        upgrading.slice('upgrading'),
        service('first-line'),
        endpointSlice('first-line', ['127.0.0.1'], { port: firstLine.port }),
        service('declining'),
        declining.slice('declining'),
        ingress({ name: 'missing', rules: [{ host: 'missing.example.com', paths: [{ service: 'nowhere:80' }] }] }),
        ingress({
          name: 'secure',
          rules: [{ host: 'secure.example.com', paths: [{}] }],
          tls: [{ hosts: ['secure.example.com'] }],
        }),
        ...['web', 'upgrading', 'declining', 'first-line'].map((name) =>
          ingress({ name, rules: [{ host: `${name}.example.com`, paths: [{ service: `${name}:80` }] }] }),
        ),
      ],
    };
  },
  groups: {
    methods: [
      ...['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND', 'PURGE'].map((method) => ({
        url: 'http://web.example.com/',
        method,
        backend: 'web',
      })),
      { url: 'http://web.example.com/', method: 'OPTIONS', backend: 'web', differs: 'emptyOptions' },
      { url: 'http://web.example.com/', method: 'HEAD' },
      { url: 'http://unknown.example.org/', method: 'HEAD', status: 404 },
      { url: 'http://web.example.com/', method: 'TRACE', status: 405 },
      { url: 'https://web.example.com/', method: 'TRACE', status: 405 },
      { url: 'http://unknown.example.org/', method: 'TRACE', status: 405 },
    ],
    bodies: [
      { url: 'http://web.example.com/', method: 'POST', body: 'x', backend: 'web' },
      { url: 'http://web.example.com/', method: 'POST', body: '', backend: 'web' },
      { url: 'http://web.example.com/', method: 'PUT', body: 'x'.repeat(100_000), backend: 'web' },
      { url: 'http://web.example.com/', method: 'POST', body: 'x'.repeat(MIB), backend: 'web' },
      { url: 'https://web.example.com/', method: 'POST', body: 'x'.repeat(MIB), backend: 'web' },
      { url: 'http://web.example.com/?1', method: 'POST', body: 'x'.repeat(MIB + 1), status: 413 },
      { url: 'https://web.example.com/?1', method: 'POST', body: 'x'.repeat(MIB + 1), status: 413 },
      { url: 'http://secure.example.com/', method: 'POST', body: 'x'.repeat(MIB + 1), status: 413 },
      { url: 'http://unknown.example.org/', method: 'POST', body: 'x'.repeat(MIB + 1), status: 413 },
      { url: 'http://missing.example.com/', method: 'POST', body: 'x'.repeat(MIB + 1), status: 413 },
    ],
    headers: [
      { url: 'http://web.example.com/', headers: { 'x-long': 'x'.repeat(7_000) }, backend: 'web' },
      {
        url: 'http://web.example.com/',
        headers: { cookie: 'x'.repeat(20_000) },
        backend: 'web',
        differs: 'longHeader',
        nginx: { status: 400, text: '<center>Request Header Or Cookie Too Large</center>' },
      },
      {
        url: 'http://web.example.com/?long',
        headers: { cookie: 'x'.repeat(40_000) },
        status: 400,
        text: '<center>Request Header Or Cookie Too Large</center>',
      },
      {
        url: 'http://web.example.com/',
        headers: Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`x-${index}`, '1'])),
        backend: 'web',
      },
    ],
    upgrades: [
      {
        url: 'http://declining.example.com/426',
        headers: { connection: 'upgrade', upgrade: 'websocket' },
        status: 426,
        text: 'declined',
      },
      {
        url: 'http://declining.example.com/302',
        headers: { connection: 'upgrade', upgrade: 'websocket' },
        status: 302,
        answered: { location: '/elsewhere' },
        differs: 'declinedUpgrade',
        nginx: { status: 302, answered: { location: '/elsewhere' }, text: 'declined' },
      },
    ],
  },
  exchanges: [
    raw('HTTP/1.0 with a Host', ['GET /x HTTP/1.0', 'Host: web.example.com'], served('web GET /x', ['HTTP/1.0 200']), {
      differs: 'http10',
      nginx: served('web GET /x'),
    }),
    raw(
      'HTTP/1.0 without a Host',
      ['GET /x HTTP/1.0'],
      { heads: ['HTTP/1.0 404'] },
      { differs: 'http10', nginx: { heads: ['HTTP/1.1 404'] } },
    ),
    {
      title: 'HTTP/0.9',
      run: async ({ httpPort }) => (await sendRaw(httpPort, 'GET /\r\n')).slice(0, 6).toLowerCase(),
      expected: 'http/1',
      differs: 'answers09',
      nginx: '<html>',
    },
    raw('chunks', ['POST /x HTTP/1.1', ...CLOSE, 'Transfer-Encoding: chunked'], served('web POST /x abc'), {
      body: '1\r\na\r\n2\r\nbc\r\n0\r\n\r\n',
    }),
    raw('chunks that are no number', ['POST /x HTTP/1.1', ...CLOSE, 'Transfer-Encoding: chunked'], refused, {
      body: 'xyz\r\n',
    }),
    raw(
      'a length and chunks',
      ['POST / HTTP/1.1', ...CLOSE, 'Content-Length: 5', 'Transfer-Encoding: chunked'],
      refused,
      {
        body: '0\r\n\r\n',
      },
    ),
    raw('two lengths', ['POST / HTTP/1.1', ...CLOSE, 'Content-Length: 1', 'Content-Length: 2'], refused, { body: 'a' }),
    raw(
      'an expectation',
      ['POST /x HTTP/1.1', ...CLOSE, 'Expect: 100-continue', 'Content-Length: 2'],
      served('web POST /x ab', ['HTTP/1.1 100', 'HTTP/1.1 200']),
      { body: 'ab' },
    ),
    raw(
      'an expectation of a body that is too large',
      ['POST /x HTTP/1.1', ...CLOSE, 'Expect: 100-continue', `Content-Length: ${MIB + 1}`],
      { heads: ['HTTP/1.1 100', 'HTTP/1.1 413'] },
      { differs: 'expectTooLarge', nginx: { heads: ['HTTP/1.1 413'] } },
    ),
    raw(
      'another expectation',
      ['POST /x HTTP/1.1', ...CLOSE, 'Expect: something', 'Content-Length: 2'],
      { heads: ['HTTP/1.1 417'] },
      { body: 'ab', differs: 'expectOther', nginx: served('web POST /x ab') },
    ),
    raw('a method that nobody has heard of', ['FOO /x HTTP/1.1', ...CLOSE], refused),
    raw(
      'a Host that stands there twice',
      ['GET / HTTP/1.1', 'Host: web.example.com', 'Host: web.example.com'],
      refused,
    ),
    raw('no Host', ['GET / HTTP/1.1', 'Connection: close'], refused),
    raw('an empty Host', ['GET / HTTP/1.1', 'Host:', 'Connection: close'], refused),
    raw('a Host with a space', ['GET / HTTP/1.1', 'Host: web example.com', 'Connection: close'], refused),
    raw(
      'a Host with two dots in a row',
      ['GET / HTTP/1.1', 'Host: a..b', 'Connection: close'],
      { heads: ['HTTP/1.1 404'] },
      { differs: 'twoDots', nginx: refused },
    ),
    raw(
      'an absolute target',
      ['GET http://web.example.com/x HTTP/1.1', 'Host: unknown.example.org', 'Connection: close'],
      served('web GET /x'),
    ),
    raw('OPTIONS *', ['OPTIONS * HTTP/1.1', ...CLOSE], refused),
    raw('CONNECT', ['CONNECT web.example.com:80 HTTP/1.1', ...CLOSE], refused),
    raw('a path with a NUL', ['GET /%00 HTTP/1.1', ...CLOSE], refused),
    raw('a path without a slash', ['GET x HTTP/1.1', ...CLOSE], refused),
    raw('an escape without its digits', ['GET /a%zz HTTP/1.1', ...CLOSE], refused),
    raw('half an escape', ['GET /a%4 HTTP/1.1', ...CLOSE], refused),
    raw('a query with anything', ['GET /a%20b?c=%zz&% HTTP/1.1', ...CLOSE], served('web GET /a%20b?c=%zz&%')),
    raw('words', ['hello'], refused),
    raw('a header name with a space', ['GET / HTTP/1.1', ...CLOSE, 'bad name: 1'], refused),
    raw('a fragment', ['GET /a#b HTTP/1.1', ...CLOSE], refused, { differs: 'fragment', nginx: served('web GET /a#b') }),
    raw('a path that climbs above the root', ['GET /../x HTTP/1.1', ...CLOSE], served('web GET /x'), {
      differs: 'climbingPath',
      nginx: refused,
    }),
    raw('bytes above 127', ['GET /\xc3\xa9 HTTP/1.1', 'Host: first-line.example.com', 'Connection: close'], refused, {
      differs: 'rawBytes',
      nginx: { heads: ['HTTP/1.1 200'] },
    }),
    raw(
      '201 headers',
      ['GET /x HTTP/1.1', ...CLOSE, ...Array.from({ length: 201 }, (_, at) => `x-${at}: 1`)],
      refused,
      {
        differs: 'manyHeaders',
        nginx: served('web GET /x'),
      },
    ),
    raw(
      'a request line of 10 KB',
      [`GET /${'x'.repeat(10_000)} HTTP/1.1`, ...CLOSE],
      served(`web GET /${'x'.repeat(10_000)}`),
      { differs: 'longRequestLine', nginx: { heads: ['HTTP/1.1 414'] } },
    ),
    raw('two requests at once', ['GET /1 HTTP/1.1', 'Host: unknown.example.org', '', 'GET /2 HTTP/1.1', ...CLOSE], {
      heads: ['HTTP/1.1 404', 'HTTP/1.1 200'],
      received: 'web GET /2',
    }),
    {
      title: 'HTTP/2 over TLS',
      run: async ({ httpsPort: port }) => {
        const { status, body } = await sendHttp2({
          port,
          host: 'web.example.com',
          method: 'POST',
          path: '/x',
          body: 'y',
        });
        return [status, JSON.parse(body).method, JSON.parse(body).body];
      },
      expected: [200, 'POST', 'y'],
    },
    {
      title: 'a body over HTTP/2 that is too large',
      run: async ({ httpsPort: port }) => {
        const body = 'x'.repeat(MIB + 1);
        return (await sendHttp2({ port, host: 'web.example.com', method: 'POST', body })).status;
      },
      expected: 413,
    },
    {
      title: 'HTTP/2 without TLS',
      run: ({ httpPort }) => http2WithoutTls(httpPort),
      expected: 200,
      differs: 'h2c',
      nginx: 'the connection ends',
    },
    ...['websocket', 'WebSocket', 'SPDY/3.1'].map(
      (protocol): Exchange => ({
        title: `an upgrade to ${protocol}`,
        run: async ({ httpPort }) => {
          const socket = await openWebSocket(httpPort, 'upgrading.example.com', protocol);
          const text = await socket.exchange('hello');
          socket.close();
          return [socket.head.split('\r\n', 1)[0], text];
        },
        expected: ['HTTP/1.1 101 Switching Protocols', 'hello'],
      }),
    ),
  ],
});

async function http2WithoutTls(port: number): Promise<unknown> {
  const session = http2Connect(`http://127.0.0.1:${port}`).on('error', () => {});
  const stream = session.request({ ':authority': 'web.example.com', ':path': '/' }).on('error', () => {});
  try {
    const ended = once(session, 'close').then(() => [undefined]);
    const [headers] = (await Promise.race([once(stream, 'response'), ended])) as [{ ':status': number } | undefined];
    return headers?.[':status'] ?? 'the connection ends';
  } catch {
    return 'the connection ends';
  } finally {
    session.destroy();
  }
}
