/** Paths that the configuration of nginx cannot hold as text: bytes that are none, and more than it can read. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Backend, startBackend } from '../support/backend.ts';
import { send } from '../support/http-client.ts';
import { ingress, service } from '../support/manifests.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';

const LONG = `/${'x'.repeat(5_000)}`;

const LONGER = `/${'y.'.repeat(150)}`;
const LONG_PREFIX = `/${'z'.repeat(299)}`;

let gateway: NginxGateway;
let backends: Backend[];

beforeAll(async () => {
  const names = ['root', 'bytes', 'below', 'exact', 'quotes'];
  backends = await Promise.all(names.map((name) => startBackend(name)));
  const path = (path: string, name: string, pathType: 'Exact' | 'Prefix' = 'Prefix') => ({
    path,
    pathType,
    service: `${name}:80`,
  });
  const paths = [
    path('/', 'root'),
    path('/caf%E9', 'bytes'),
    path('/caf%E9/below', 'below'),
    path('/caf%E9.', 'exact', 'Exact'),
    path('/"%22;%20$host%0a{}', 'quotes'),
    path(`${LONGER}/`, 'exact', 'Exact'),
    path(LONG_PREFIX, 'below'),
    path(LONG, 'bytes'),
  ];
  gateway = await startNginxGateway({
    manifests: [
      ...backends.flatMap((backend) => [service(backend.name), backend.slice(backend.name)]),
      ingress({ name: 'odd', rules: [{ host: 'odd.example.com', paths }] }),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all(backends.map((backend) => backend.close()));
});

async function answer(path: string): Promise<string> {
  const { status, body } = await send({ port: gateway.httpPort, host: 'odd.example.com', path });
  return status === 200 ? (JSON.parse(body) as { backend: string }).backend : String(status);
}

test.each([
  ['/caf%E9', 'bytes'],
  ['/caf%e9/', 'bytes'],
  ['/caf%E9/x', 'bytes'],
  ['/caf%E9x', 'root'],
  ['/caf%E9/below', 'below'],
  ['/caf%E9/below/x', 'below'],
  ['/caf%E9/belowx', 'bytes'],
  ['/caf%E9.', 'exact'],
  ['/caf%E9./', 'root'],
  ['/caf%E9.%0a', 'root'],
  ['/caf%EA', 'root'],
  ['/"";%20$host%0a{}', 'quotes'],
  ['/%22%22%3b%20%24host%0A%7b%7d/x', 'quotes'],
  ['/"";%20odd.example.com%0a{}', 'root'],
])('%s → %s', async (path, backend) => {
  expect(await answer(path)).toBe(backend);
});

const shorter = [40, 44, 45, 188, 255, 256, 299].map((length) => ({
  path: LONG_PREFIX.slice(0, length),
  backend: 'root',
}));

test.each([
  { path: `${LONGER}/`, backend: 'exact' },
  { path: `${LONGER}/x`, backend: 'root' },
  { path: `${LONGER}//x`, backend: 'root' },
  { path: LONGER, backend: 'root' },
  { path: LONG_PREFIX, backend: 'below' },
  { path: `${LONG_PREFIX}/x`, backend: 'below' },
  { path: `${LONG_PREFIX}x`, backend: 'root' },
  ...shorter,
])('a path that is longer than nginx compares, or nearly it: $path → $backend', async ({ path, backend }) => {
  expect(await answer(path)).toBe(backend);
});

test('a path that is too long for nginx is closed, not open to the wider one', async () => {
  expect(await answer(LONG)).toBe('503');
  expect(await answer(`${LONG}/x`)).toBe('503');
  expect(await answer(LONG.slice(0, 600))).toBe('root');
});
