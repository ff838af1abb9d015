/** No spelling of a closed path reaches an open one, wherever the host stands; what merely looks like it is served. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { send } from '../../support/http-client.ts';
import { ingress, type PathSpec } from '../../support/manifests.ts';
import { type Services, startServices } from './cases.ts';

const PROTECTED = { 'nginx.ingress.kubernetes.io/auth-type': 'basic' };
const CLOSED: PathSpec[] = [
  { path: '/admin' },
  { path: '/a@b' },
  { path: '/caf%C3%A9' },
  { path: '/a|b' },
  { path: '/exact:1', pathType: 'Exact' },
];

let gateway: Gateway;
let services: Services;

beforeAll(async () => {
  services = await startServices('web');
  const on = (host: string | undefined, paths: PathSpec[]) => [{ ...(host && { host }), paths }];
  const hosts = ['shop.example.com', '*.wild.example.com', undefined];
  gateway = await startGateway({
    manifests: [
      ...services.manifests,
      ...hosts.flatMap((host, index) => [
        ingress({ name: `open-${index}`, rules: on(host, [{ path: '/' }, { path: '/open' }]) }),
        ingress({ name: `closed-${index}`, rules: on(host, CLOSED), annotations: PROTECTED }),
      ]),
    ],
  });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

describe.each(['shop.example.com', 'a.wild.example.com', 'nobody.example.org'])('%s', (host) => {
  const statusOf = async (path: string) => (await send({ port: gateway.httpPort, host, path })).status;

  test.each([
    '/admin',
    '/%61dmin',
    '/admin%2Fx',
    '/admin%2fx?y',
    '/admin%5cx',
    '/open/%2e%2e/admin',
    '/a@b',
    '/a%40b',
    '/a%40b/c',
    '/caf%C3%A9',
    '/caf%c3%a9',
    '/a|b',
    '/a%7cb',
    '/exact:1',
    '/exact%3a1',
  ])('%s is closed', async (path) => {
    expect(await statusOf(path)).toBe(503);
  });

  test.each([
    '/%2fadmin',
    '/.%2fadmin',
    '/open/..%2fadmin',
    '/open%2f..%2fadmin',
    '/open/%2e%2e%2fadmin',
    '/x%5c..%5cadmin',
    '/admin%2f',
  ])('%s is refused', async (path) => {
    expect(await statusOf(path)).toBe(400);
  });

  test.each(['/', '/open', '/open/a%2Fb', '/@scope%2fname', '/admins%2Fx', '/x?/admin%2Fx', '/exact:1/x', '/a%20b'])(
    '%s is served',
    async (path) => {
      expect(await statusOf(path)).toBe(200);
    },
  );
});
