/** What clients see of an Ingress whose newest version is refused as a whole. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { ingress, type Manifest } from '../../support/manifests.ts';
import { observe, type Services, soon, startServices } from './cases.ts';

let gateway: Gateway;
let services: Services;

beforeAll(async () => {
  services = await startServices('old', 'new');
  gateway = await startGateway({ manifests: services.manifests });
});
afterAll(async () => {
  await gateway?.close();
  await services?.close();
});

const DANGEROUS = '/etc/passwd';

/** An Ingress for the host of its own name; with another path that is refused by deep inspection. */
function version(name: string, backend: string, more: { refused?: boolean; annotation?: string; class?: string } = {}) {
  const paths = [
    { service: `${backend}:80` },
    ...(more.refused ? [{ path: DANGEROUS, service: `${backend}:80` }] : []),
  ];
  return ingress({
    name,
    className: more.class ?? 'nginx',
    rules: [{ host: `${name}.example.com`, paths }],
    ...(more.annotation && { annotations: { [`nginx.ingress.kubernetes.io/${more.annotation}`]: 'x' } }),
  }) satisfies Manifest;
}

async function outcome(name: string, path = '/'): Promise<string | number> {
  const { answer, received } = await observe(gateway, { url: `http://${name}.example.com${path}` });
  return received?.backend ?? answer.status;
}

describe('a refused version', () => {
  test('of a new Ingress is not served', async () => {
    await gateway.apply(version('fresh', 'new', { refused: true }));
    expect(await outcome('fresh')).toBe(404);
  });

  test('changes nothing of what is served, until a good one comes', async () => {
    await gateway.apply(version('edited', 'old'));
    await soon(() => outcome('edited')).toBe('old');
    await gateway.apply(version('edited', 'new', { refused: true }));
    expect(await outcome('edited')).toBe('old');
    expect(await outcome('edited', DANGEROUS)).toBe('old');
    await gateway.apply(version('edited', 'new'));
    await soon(() => outcome('edited')).toBe('new');
  });

  test.each(['auth-url', 'whitelist-source-range', 'configuration-snippet'])(
    'that adds %s closes the paths',
    async (annotation) => {
      await gateway.apply(version('closed', 'old'));
      await soon(() => outcome('closed')).toBe('old');
      await gateway.apply(version('closed', 'new', { refused: true, annotation }));
      await soon(() => outcome('closed')).toBe(503);
      await gateway.apply(version('closed', 'new'));
      await soon(() => outcome('closed')).toBe('new');
    },
  );

  test('is taken away with its class, and is not remembered', async () => {
    await gateway.apply(version('leaving', 'old'));
    await soon(() => outcome('leaving')).toBe('old');
    await gateway.apply(version('leaving', 'old', { refused: true }));
    await gateway.apply(version('leaving', 'old', { refused: true, class: 'other' }));
    await soon(() => outcome('leaving')).toBe(404);
    await gateway.apply(version('leaving', 'old', { refused: true }));
    expect(await outcome('leaving')).toBe(404);
  });
});
