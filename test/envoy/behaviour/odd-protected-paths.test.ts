/** A path that is to be protected and cannot be served as it is written leaves nothing open that it may have been meant for. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { send } from '../../support/http-client.ts';
import { besideOpenPaths, oddPaths, servedAmong } from '../../support/odd-paths.ts';
import { type Services, startServices } from './cases.ts';

describe.each(['nobody', 'use-regex', 'rewrite-target'] as const)('beside other tenants: %s', (neighbour) => {
  const fixed = { host: 'fixed.example.com', path: '/a//b', pathType: 'Prefix' } as const;
  const others = ['/p/./z', '/q?x', '/ab/../cd', '/admin (old)/x+y'].map(
    (path, index) => ({ host: `fixed-${index}.example.com`, path, pathType: 'Prefix' }) as const,
  );
  const root = { host: 'root.example.com', path: '//./', pathType: 'Exact' } as const;
  const odd = [fixed, root, ...others, ...oddPaths(neighbour === 'nobody' ? 150 : 80, 1)];
  let gateway: Gateway;
  let services: Services;

  beforeAll(async () => {
    services = await startServices('web');
    gateway = await startGateway({ manifests: [...services.manifests, ...besideOpenPaths(odd, neighbour)] });
  });
  afterAll(async () => {
    await gateway?.close();
    await services?.close();
  });

  test('no request for a protected path reaches a backend', { timeout: 60_000 }, async () => {
    expect(await servedAmong(odd, gateway.httpPort)).toEqual([]);
  });

  test('what is beside them is served', async () => {
    const statusOf = async (path: string) => (await send({ port: gateway.httpPort, host: fixed.host, path })).status;
    expect(await Promise.all(['/', '/a', '/a/x', '/b', '/a/b'].map(statusOf))).toEqual([200, 200, 200, 200, 503]);
  });
});
