import { randomUUID } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { startServices } from '../envoy/behaviour/cases.ts';
import { openWebSocket, startUpgradingBackend } from '../envoy/behaviour/upgrade.ts';
import type { Exchange, Ports } from '../parity/table.ts';
import { startBackend } from '../support/backend.ts';
import { startDnsServer } from '../support/dns-server.ts';
import { callGrpc, startGrpcBackend } from '../support/grpc-backend.ts';
import { service } from '../support/manifests.ts';
import {
  type Copy,
  type CopyServer,
  copied,
  copiedByNginx,
  host,
  notCopied,
  startCopyServer,
  tagged,
  told,
} from './copies.ts';
import type { AnnotationCase, AnnotationTable } from './table.ts';

const MIB = 1024 ** 2;
/** More than the system takes for a connection whose other end reads nothing. */
const BEYOND_SOCKETS = 20 * MIB;
const WHOLE = { 'mirror-target': 'WHOLE' };
const TARGET = 'target.example.com';

const call: Exchange = {
  title: 'a call of gRPC',
  run: async (ports: Ports) => {
    const path = `/${randomUUID()}`;
    const { body, grpcStatus } = await callGrpc({
      port: ports.httpsPort,
      tls: true,
      host: 'grpc.copies.example.com',
      path,
    });
    const { method, bytes } = (await told(ports, path)) as Copy;
    return { body, grpcStatus, copy: { method, bytes } };
  },
  expected: { body: 'hello', grpcStatus: '0', copy: { method: 'POST', bytes: 10 } },
};

/** With the ports of the servers for copies. */
function targets({ httpPort, httpsPort, deafPort }: CopyServer): Readonly<Record<string, string>> {
  const http = `http://${TARGET}:${httpPort}`;
  return {
    WHOLE: `${http}$request_uri`,
    BELOW: `${http}/below$request_uri`,
    CONSTANT: `${http}/collect`,
    WITH_QUERY: `${http}/collect?from=here`,
    VARIABLES: `${http}/of/$host$uri?$args&method=$request_method&tenant=$http_x_tenant`,
    BRACES: `${http}$\u007brequest_uri}`,
    BARE: http,
    SPACED: ` ${http} $request_uri`,
    SECURE: `https://${TARGET}:${httpsPort}$request_uri`,
    DEAD: `http://${TARGET}:1$request_uri`,
    UNKNOWN: `http://nowhere.example.com:${httpPort}$request_uri`,
    SILENT: `http://silent.example.com:${httpPort}$request_uri`,
    DEAF: `http://${TARGET}:${deafPort}$request_uri`,
    LOOPBACK: `http://127.0.0.1:${httpPort}$request_uri`,
    DECIMAL: `http://2130706433:${httpPort}$request_uri`,
    OCTAL: `http://0177.0.0.1:${httpPort}$request_uri`,
    MAPPED: `http://[::ffff:127.0.0.1]:${httpPort}$request_uri`,
    LOCALHOST: `http://localhost:${httpPort}$request_uri`,
    VARIABLE_HOST: `http://$http_x_host:${httpPort}$request_uri`,
    JOINED_HOST: `http://target.$http_x_host:${httpPort}/`,
    JOINED_PORT: `${http}$http_x_more`,
    UNKNOWN_VARIABLE: `${http}/$nothing`,
    PATH: '/copies',
    OTHER_SCHEME: `ftp://${TARGET}:${httpPort}/`,
    OWN: `http://own.copies.example.com:${httpPort}$request_uri`,
  };
}

const bad = [
  ...['LOOPBACK', 'DECIMAL', 'OCTAL', 'MAPPED', 'LOCALHOST', 'VARIABLE_HOST', 'JOINED_HOST', 'JOINED_PORT'],
  ...['UNKNOWN_VARIABLE', 'PATH', 'OTHER_SCHEME'],
].map((target) => [target.toLowerCase().replaceAll('_', '-'), target] as const);

const hosts: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  none: {},
  whole: WHOLE,
  below: { 'mirror-target': 'BELOW' },
  constant: { 'mirror-target': 'CONSTANT' },
  'with-query': { 'mirror-target': 'WITH_QUERY' },
  variables: { 'mirror-target': 'VARIABLES' },
  braces: { 'mirror-target': 'BRACES' },
  bare: { 'mirror-target': 'BARE' },
  spaced: { 'mirror-target': 'SPACED' },
  secure: { 'mirror-target': 'SECURE' },
  dead: { 'mirror-target': 'DEAD', 'proxy-body-size': '0' },
  unknown: { 'mirror-target': 'UNKNOWN' },
  silent: { 'mirror-target': 'SILENT' },
  own: { 'mirror-target': 'OWN' },
  large: { ...WHOLE, 'proxy-body-size': '0' },
  memory: { ...WHOLE, 'proxy-body-size': '0', 'client-body-buffer-size': '4m' },
  named: { ...WHOLE, 'mirror-host': 'other.example.com:8080' },
  'named-variable': { ...WHOLE, 'mirror-host': '$host.of.$http_x_tenant' },
  'bad-name': { ...WHOLE, 'mirror-host': 'a{b' },
  'empty-name': { ...WHOLE, 'mirror-host': '$http_x_nothing' },
  'unknown-name': { ...WHOLE, 'mirror-host': '$nothing' },
  'without-body': { ...WHOLE, 'mirror-request-body': 'off', 'proxy-body-size': '0' },
  'with-body': { ...WHOLE, 'mirror-request-body': 'on' },
  'bad-body': { ...WHOLE, 'mirror-request-body': 'no' },
  'only-name': { 'mirror-host': TARGET, 'mirror-request-body': 'on' },
  vhost: { ...WHOLE, 'upstream-vhost': 'internal.example.com' },
  listed: { ...WHOLE, 'whitelist-source-range': '192.0.2.0/24' },
  cors: { ...WHOLE, 'enable-cors': 'true' },
  'cors-list': { ...WHOLE, 'enable-cors': 'true', 'cors-allow-origin': 'https://a.example.com' },
  redirected: { ...WHOLE, 'permanent-redirect': 'https://elsewhere.example.com' },
  'to-tls': { ...WHOLE, 'force-ssl-redirect': 'true' },
  sticky: { ...WHOLE, affinity: 'cookie' },
  hashed: { ...WHOLE, 'upstream-hash-by': '$request_uri' },
  retried: { ...WHOLE, 'proxy-next-upstream': 'error timeout http_503 non_idempotent' },
  main: WHOLE,
};

function written(annotations: Readonly<Record<string, string>>, known: Readonly<Record<string, string>>) {
  const { 'mirror-target': target } = annotations;
  return { ...annotations, ...(target !== undefined && { 'mirror-target': known[target] ?? target }) };
}

function body(bytes: number) {
  return { method: 'POST', path: '/form', body: 'x'.repeat(bytes) };
}

/** That two requests, one behind the other on a connection, are answered, whatever becomes of their copies. */
function isAnswered(name: string, bytes: number): Exchange {
  return {
    title: `${name}: two requests of ${bytes} bytes are answered`,
    run: async ({ httpPort }: Ports) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      try {
        return [await post(httpPort, agent, name, bytes), await post(httpPort, agent, name, bytes)];
      } finally {
        agent.destroy();
      }
    },
    expected: [200, 200],
  };
}

const large = copiedByNginx(
  'a body that is larger than what Envoy keeps',
  'copiedBody',
  async (ports, tag) => (await tagged(ports, 'large', tag, body(MIB + 1))).status,
  200,
);

const withoutName: Exchange = {
  title: 'a name that comes to nothing, whatever the client says',
  run: async (ports: Ports) => {
    const tag = randomUUID();
    const headers = { 'x-copy-host': 'evil.example.com', copyhost: 'evil.example.com' };
    await tagged(ports, 'empty-name', tag, { headers });
    const { host } = ((await told(ports, `/${tag}`)) as Copy).headers;
    return host?.replace(/:\d+$/, '');
  },
  expected: TARGET,
};

const upgraded = copiedByNginx(
  'a WebSocket',
  'copiedUpgrade',
  async ({ httpPort }, tag) => {
    const socket = await openWebSocket(httpPort, 'socket.copies.example.com', 'websocket', `/${tag}`);
    socket.close();
    return Number(socket.head.split(' ')[1]);
  },
  101,
);

function post(port: number, agent: Agent, name: string, bytes: number): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const headers = { host: `${name}.copies.example.com` };
  const outgoing = httpRequest({ host: '127.0.0.1', port, agent, method: 'POST', headers }, (response) => {
    response
      .on('error', reject)
      .on('end', () => resolve(response.statusCode))
      .resume();
  });
  outgoing.on('error', reject).end(Buffer.alloc(bytes));
  return promise;
}

const neverCopied: readonly AnnotationCase[] = bad.map(([name]) =>
  notCopied(name, { headers: { 'x-host': TARGET, 'x-more': '/' } }, 200),
);

export const mirror: AnnotationTable = {
  title: 'copies of requests',
  start: async () => {
    const [services, upgrading, grpc, sink, copies, dns] = await Promise.all([
      startServices('web', 'new'),
      startUpgradingBackend(),
      startGrpcBackend('calls'),
      startBackend('sink', (request, response) => request.resume().on('end', () => response.end())),
      startCopyServer(),
      startDnsServer(),
    ]);
    dns.set(TARGET, { addresses: ['127.0.0.1'] });
    dns.set('own.copies.example.com', { addresses: ['127.0.0.1'] });
    dns.set('silent.example.com', 'silent');
    const known = targets(copies);
    const all = { ...hosts, ...Object.fromEntries(bad.map(([name, target]) => [name, { 'mirror-target': target }])) };
    return {
      dns,
      close: async () => {
        await Promise.all([services, upgrading, grpc, sink, copies, dns].map((one) => one.close()));
      },
      manifests: [
        ...services.manifests,
        ...copies.manifests,
        service('sink'),
        sink.slice('sink'),
        host('deaf', written({ 'mirror-target': 'DEAF', 'proxy-body-size': '0' }, known), {
          rules: [{ host: 'deaf.copies.example.com', paths: [{ path: '/', service: 'sink:80' }] }],
        }),
        service('calls'),
        grpc.slice('calls'),
        host('grpc', written({ ...WHOLE, 'backend-protocol': 'GRPC' }, known), {
          rules: [{ host: 'grpc.copies.example.com', paths: [{ path: '/', service: 'calls:80' }] }],
        }),
        service('socket'),
        upgrading.slice('socket'),
        host('socket', written(WHOLE, known), {
          rules: [{ host: 'socket.copies.example.com', paths: [{ path: '/', service: 'socket:80' }] }],
        }),
        ...Object.entries(all).map(([name, annotations]) => host(name, written(annotations, known))),
        host('rewritten', written({ ...WHOLE, 'rewrite-target': '/new/$1', 'use-regex': 'true' }, known), {
          rules: [
            {
              host: 'rewritten.copies.example.com',
              paths: [{ path: '/old/(.*)', pathType: 'ImplementationSpecific' }],
            },
          ],
        }),
        host(
          'canary',
          { canary: 'true', 'canary-by-header': 'x-canary' },
          {
            rules: [{ host: 'main.copies.example.com', paths: [{ path: '/', service: 'new:80' }] }],
          },
        ),
        host('gone', written(WHOLE, known), {
          rules: [{ host: 'gone.copies.example.com', paths: [{ path: '/', service: 'gone:80' }] }],
        }),
      ],
    };
  },
  keys: {
    'mirror-target': {
      good: [
        copied(
          'whole',
          { path: '/a%20b/c?x=1&y=%2F' },
          {
            method: 'GET',
            url: '/a%20b/c?x=1&y=%2F',
            headers: {
              host: TARGET,
              'x-forwarded-for': '127.0.0.1',
              'x-real-ip': '127.0.0.1',
              'x-forwarded-host': 'whole.copies.example.com',
              'x-ingress-copy': '1',
              copyhost: undefined,
              copyurl: undefined,
              'x-copy-path': undefined,
              'x-copy-host': undefined,
              'x-copy-body': undefined,
              'x-copy-url': undefined,
              'x-copy-forwarded-for': undefined,
              'x-envoy-internal': undefined,
              'x-envoy-expected-rq-timeout-ms': undefined,
              'x-envoy-retry-on': undefined,
            },
          },
        ),
        copied('whole', body(100_000), { method: 'POST', url: '/form', bytes: 100_000 }),
        copied('whole', { ...body(100), headers: { 'transfer-encoding': 'chunked' } }, { bytes: 100 }),
        copied('below', { path: '/a?x=1' }, { url: '/below/a?x=1' }),
        copied('constant', { path: '/a?x=1' }, { url: '/collect?x=1' }),
        copied('constant', { path: '/a' }, { url: '/collect' }),
        copied('with-query', { path: '/a?x=1' }, { url: '/collect?from=here' }),
        copied(
          'variables',
          { path: '/a%20%0d%0ab?x=1', headers: { 'x-tenant': 't' } },
          {
            url: '/of/variables.copies.example.com/a%20%0d%0ab?x=1&method=GET&tenant=t',
          },
        ),
        copied('braces', { path: '/a' }, { url: '/a' }),
        copied('bare', { path: '/a?x=1' }, { url: '/a?x=1' }),
        copied('spaced', { path: '/a' }, { url: '/a' }),
        copied('secure', { path: '/a' }, { url: '/a', headers: { host: TARGET }, serverName: TARGET }),
        copied('secure', body(100), { bytes: 100 }),
      ],
      bad: neverCopied,
      default: [notCopied('none', {}, 200), notCopied('only-name', {}, 200)],
      neighbours: [
        isAnswered('dead', 2 * MIB),
        isAnswered('unknown', 100),
        isAnswered('silent', 100),
        isAnswered('deaf', 100),
        isAnswered('deaf', BEYOND_SOCKETS),
        notCopied('own', {}, 200, 'which would be copied again'),
        notCopied('whole', { headers: { 'x-ingress-copy': '1' } }, 200, 'which came back'),
        notCopied('whole', { ...body(100), headers: { 'x-ingress-copy': '1' } }, 200, 'which came back'),
        notCopied('without-body', { ...body(100), headers: { 'x-ingress-copy': '1' } }, 200, 'which came back'),
        copied('large', body(MIB), { bytes: MIB }),
        large,
        copied('memory', body(2 * MIB), { bytes: 2 * MIB }),
        upgraded,
        call,
        copied('vhost', { path: '/a' }, { url: '/a', headers: { host: TARGET } }),
        copied('rewritten', { path: '/old/a%20b?x=1' }, { url: '/old/a%20b?x=1' }),
        notCopied('listed', {}, 403),
        notCopied('cors', { method: 'OPTIONS' }, 204),
        copied('cors', {}, { url: '/' }),
        copied('cors-list', { headers: { origin: 'https://a.example.com' } }, { url: '/' }),
        notCopied('redirected', {}, 301),
        notCopied('to-tls', {}, 308),
        notCopied('gone', {}, 503),
        copied('sticky', {}, { url: '/' }),
        copied('hashed', { path: '/a' }, { url: '/a' }),
        copied('retried', body(100), { bytes: 100, headers: { 'x-envoy-retry-on': undefined } }),
        copied('main', { path: '/a' }, { url: '/a' }),
        copied('main', { path: '/a', headers: { 'x-canary': 'always' } }, { url: '/a' }),
        copied(
          'whole',
          { headers: { 'x-copy-path': '/b', 'x-copy-body': 'none', 'x-copy-host': 'b' } },
          {
            url: '/',
            headers: { host: TARGET },
          },
        ),
      ],
    },
    'mirror-host': {
      good: [
        copied('named', {}, { headers: { host: 'other.example.com:8080' } }),
        copied(
          'named-variable',
          { headers: { 'x-tenant': 't' } },
          {
            headers: { host: 'named-variable.copies.example.com.of.t' },
          },
        ),
      ],
      bad: [
        copied('bad-name', {}, { headers: { host: TARGET } }),
        copied('unknown-name', {}, { headers: { host: TARGET } }),
      ],
      default: [copied('whole', {}, { headers: { host: TARGET } })],
      neighbours: [notCopied('only-name', {}, 200), withoutName],
    },
    'mirror-request-body': {
      good: [
        copied('without-body', body(100), { method: 'POST', bytes: 0 }),
        copied('without-body', body(3 * MIB), { method: 'POST', bytes: 0 }),
        copied('without-body', { ...body(100), headers: { 'transfer-encoding': 'chunked' } }, { bytes: 0 }),
        copied('without-body', {}, { method: 'GET', bytes: 0 }),
        copied('with-body', body(100), { bytes: 100 }),
      ],
      bad: [copied('bad-body', body(100), { bytes: 100 })],
      default: [copied('whole', body(100), { bytes: 100 })],
    },
  },
};
