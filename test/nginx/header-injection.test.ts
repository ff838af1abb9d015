/** What a client encodes in its path is decoded by nginx. It must not end the line of a header, for no template that users can write. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { annotated } from '../annotations/table.ts';
import { type Backend, type Received, startBackend } from '../support/backend.ts';
import { poll } from '../support/gateway.ts';
import { sendRaw } from '../support/http-client.ts';
import { configMap, ingress, service } from '../support/manifests.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';
import { sendRawHttp2 } from '../support/raw-http2.ts';

const variables = ['$uri', '$request_uri', '$args', '$arg_x', '$http_x', '$cookie_x', '$host', '$http_host'];
const groups = ['$1', '$2'];

/** An Ingress of its own host for each template that holds something of the request. */
const templates: Readonly<Record<string, Readonly<Record<string, string>>>> = Object.fromEntries([
  ...variables.flatMap((variable) => [
    [`vhost ${variable}`, { 'upstream-vhost': `a-${variable}` }],
    [`hash ${variable}`, { 'upstream-hash-by': variable }],
    [`prefix ${variable}`, { 'rewrite-target': '/x', 'x-forwarded-prefix': `/${variable}` }],
    [`root ${variable}`, { 'app-root': `/${variable}` }],
    [`rewritten ${variable}`, { 'rewrite-target': `/${variable}`, 'upstream-vhost': `a-${variable}` }],
    [`sent ${variable}`, { 'rewrite-target': `https://example.com/${variable}`, 'use-regex': 'true' }],
  ]),
  ...groups.flatMap((group) => [
    [`group ${group}`, { 'rewrite-target': '/x', 'x-forwarded-prefix': `/${group}` }],
    [`rewritten ${group}`, { 'rewrite-target': `/${group}`, 'upstream-vhost': 'a-$uri' }],
    [`sent ${group}`, { 'rewrite-target': `https://example.com/${group}` }],
  ]),
  ['redirected', { 'permanent-redirect': '/x' }],
  ['secure', { 'force-ssl-redirect': 'true' }],
  ['prefix of gRPC', { 'rewrite-target': '/x', 'x-forwarded-prefix': '/$1', 'backend-protocol': 'GRPC' }],
]);

const hostOf = (title: string) => `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.example.com`;

const folder = mkdtempSync(join(tmpdir(), 'injection-'));
const accessLog = join(folder, 'access.log');

let gateway: NginxGateway;
let backend: Backend;

beforeAll(async () => {
  backend = await startBackend('web');
  const ingresses = Object.entries(templates).map(([title, annotations]) => {
    const isExpression = 'rewrite-target' in annotations;
    const path = isExpression ? { path: '/(a.*)(b.*)', pathType: 'ImplementationSpecific' } : { path: '/' };
    const name = hostOf(title).split('.')[0] ?? '';
    return ingress({ name, annotations: annotated(annotations), rules: [{ host: hostOf(title), paths: [path] }] });
  });
  const data = Object.fromEntries(variables.map((name, index) => [`X-Own-${index}`, `a ${name}`]));
  gateway = await startNginxGateway({
    manifests: [
      service('web'),
      backend.slice('web'),
      configMap('config', {
        'add-headers': 'default/headers',
        'proxy-set-headers': 'default/headers',
        'log-format-upstream': 'line $uri $remote_user $http_host',
        'log-format-escape-none': 'true',
        'use-forwarded-headers': 'true',
      }),
      configMap('headers', data),
      ...ingresses,
    ],
    build: { configMap: 'default/config' },
    delivery: { accessLog },
  });
});
afterAll(async () => {
  await gateway?.close();
  await backend.close();
  rmSync(folder, { recursive: true });
});

const LINE = 'x-injected: yes';
const breaks = ['%0d%0a', '%0D', '%0a', '%00', '%0d%0a%0d%0aGET /smuggled HTTP/1.1%0d%0a'];
const targets = breaks.flatMap((text) => [
  `/a${text}${LINE.replaceAll(' ', '%20')}/b/x?x=a${text}${LINE.replaceAll(' ', '%20')}`,
  `/a/b${text}${LINE.replaceAll(' ', '%20')}${text}`,
]);

test.each(Object.keys(templates))('%s', async (title) => {
  for (const target of targets) {
    const headers = `Host: ${hostOf(title)}\r\nX: a%0d%0a${LINE}\r\nCookie: x=a%0d%0a${LINE}\r\nConnection: close`;
    const answer = await sendRaw(gateway.httpPort, `GET ${target} HTTP/1.1\r\n${headers}\r\n\r\n`);
    const [head = '', ...bodies] = answer.split('\r\n\r\n');
    const lines = head.split(/[\r\n]+/).map((line) => line.toLowerCase());
    expect(
      lines.filter((line) => line.startsWith('x-injected')),
      target,
    ).toEqual([]);
    expect(
      lines.filter((line) => line.startsWith('http/1.1')),
      target,
    ).toHaveLength(1);
    const json = /\{"backend".*\}/.exec(bodies.join('\r\n\r\n'))?.[0];
    const received = json === undefined ? undefined : (JSON.parse(json) as Received);
    expect(received?.headers ?? {}, target).not.toHaveProperty('x-injected');
    expect(received?.url ?? '', target).not.toContain('smuggled HTTP');
  }
});

test('what an ordinary path holds is decoded, as ever', async () => {
  const host = hostOf('vhost $uri');
  const answer = await sendRaw(gateway.httpPort, `GET /a%20b HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect(answer).toMatch(/"host":"a-\/a b"/);
});

test('and one with a line break is as it was sent', async () => {
  const host = hostOf('vhost $uri');
  const answer = await sendRaw(gateway.httpPort, `GET /a%0ab HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect(answer).toMatch(/"host":"a-\/a%0ab"/);
});

test('a group of the path in a prefix is no group of another expression', async () => {
  const headers = `Host: ${hostOf('group $1')}\r\nX-Forwarded-Host: other.example.com:80\r\nConnection: close`;
  const answer = await sendRaw(gateway.httpPort, `GET /ac/b HTTP/1.1\r\n${headers}\r\n\r\n`);
  expect(answer).toMatch(/"x-forwarded-prefix":"\/ac\/"/);
});

test('a line of the access log stays one', async () => {
  const user = Buffer.from('a\r\nx-injected: yes').toString('base64');
  const headers = `Host: ${hostOf('vhost $uri')}\r\nAuthorization: Basic ${user}\r\nConnection: close`;
  await sendRaw(gateway.httpPort, `GET /last%0d%0ax-injected HTTP/1.1\r\n${headers}\r\n\r\n`);
  await poll(
    () => readFileSync(accessLog, 'utf8').includes('/last'),
    () => 'the request is not in the log',
  );
  const lines = readFileSync(accessLog, 'latin1')
    .trimEnd()
    .split(/[\r\n]+/);
  expect(lines.filter((line) => !line.startsWith('line '))).toEqual([]);
  expect(lines).toContain(`line /last%0d%0ax-injected - ${hostOf('vhost $uri')}`);
});

describe('over HTTP/2, where a line break can stand in a field as it is', () => {
  const ask = (title: string, path: string, more: readonly (readonly [string, string])[] = []) =>
    sendRawHttp2(gateway.httpsPort, [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':authority', hostOf(title)],
      [':path', path],
      ...more,
    ]);

  test.each([':authority', 'host', ':method', ':scheme', 'x-forwarded-host', 'user-agent'])('in %s', async (name) => {
    const usual = { ':method': 'GET', ':scheme': 'https', ':authority': hostOf('vhost $uri'), ':path': '/a' };
    const fields: Readonly<Record<string, string>> = { ...usual, [name]: `${hostOf('vhost $http_host')}\r\n${LINE}` };
    const answer = await sendRawHttp2(gateway.httpsPort, Object.entries(fields));
    expect(answer).not.toContain('"x-injected":"yes"');
  });

  test('an ordinary request is served', async () => {
    expect(await ask('vhost $uri', '/a', [['x', 'a']])).toContain('"x":"a"');
  });

  test.each(Object.keys(templates))('%s', async (title) => {
    const value = `a\r\n${LINE}`;
    const answers = [
      await ask(title, '/a/b', [['x', value]]),
      await ask(title, '/a/b', [['cookie', `x=${value}`]]),
      await ask(title, `/a/b${value}`),
      await ask(title, `/a/b?x=${value}`),
      await ask(title, `/a/b%0d%0a${LINE.replaceAll(' ', '%20')}`),
    ];
    for (const answer of answers) expect(answer).not.toContain('"x-injected":"yes"');
  });
});
