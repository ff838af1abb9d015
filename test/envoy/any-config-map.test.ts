/** Whatever users write into the ConfigMap and those that it names, Envoy takes what comes of it, and nothing of it is lost. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { everyKeyWithEveryValue, fewKeys, HOSTILE_HEADERS } from '../support/hostile/config-maps.ts';
import { configMap, ingress, type Manifest, service } from '../support/manifests.ts';

const host = 'web.example.com';
const SEED = Number(process.env['SEED'] ?? 20_260_301);

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    build: { configMap: 'default/config' },
    emit: { accessLog: true },
    manifests: [
      service('web'),
      ingress({ name: 'web', rules: [{ host, paths: [{}] }], tls: [{ hosts: [host] }] }),
      configMap('config', {}),
    ],
  });
});
afterAll(() => gateway?.close());

async function expectAccepted(data: Readonly<Record<string, string>>, ...others: readonly Manifest[]) {
  const explain = () => JSON.stringify({ data, others }).slice(0, 50_000);
  const before = gateway.events.length;
  await gateway.apply(configMap('config', data), ...others).catch((error: unknown) => {
    throw new Error(explain(), { cause: error });
  });
  expect(
    gateway.events.slice(before).filter(({ kind }) => kind === 'nack'),
    explain(),
  ).toEqual([]);
  const broken = gateway.pipeline.controller
    .currentDiagnostics()
    .filter(({ code }) => code === 'UnitFailed' || code === 'ResourceInvalid');
  expect(broken, explain()).toEqual([]);
}

test('every key with every value', { timeout: 240_000 }, async () => {
  for (const data of everyKeyWithEveryValue()) await expectAccepted(data);
});

test('a few keys at a time', async () => {
  for (const data of fewKeys(60, SEED)) await expectAccepted(data);
});

test.each(['add-headers', 'proxy-set-headers'])('headers that nobody needs in %s', async (key) => {
  for (const headers of HOSTILE_HEADERS)
    await expectAccepted({ [key]: 'default/headers' }, configMap('headers', headers));
});
