/** A path that is to be protected and cannot be served as it is written leaves nothing open that it may have been meant for. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Services, startServices } from '../envoy/behaviour/cases.ts';
import { type NginxGateway, startNginxGateway } from '../support/nginx-gateway.ts';
import { besideOpenPaths, oddPaths, servedAmong } from '../support/odd-paths.ts';

describe.each(['nobody', 'use-regex', 'rewrite-target'] as const)('beside other tenants: %s', (neighbour) => {
  const odd = oddPaths(neighbour === 'nobody' ? 150 : 80, 1);
  let gateway: NginxGateway;
  let services: Services;

  beforeAll(async () => {
    services = await startServices('web');
    gateway = await startNginxGateway({ manifests: [...services.manifests, ...besideOpenPaths(odd, neighbour)] });
  });
  afterAll(async () => {
    await gateway?.close();
    await services?.close();
  });

  test('no request for a protected path reaches a backend', { timeout: 60_000 }, async () => {
    expect(await servedAmong(odd, gateway.httpPort)).toEqual([]);
  });
});
