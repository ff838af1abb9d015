/** The API server is not there, or does not answer: what is served stays, and what has changed comes soon after. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Manifest } from './support/api.ts';
import { eventually } from './support/eventually.ts';
import { expectNothingLost, probe, served, startEnvoy } from './support/product.ts';
import { type Site, STEADY_HOST, startSite } from './support/site.ts';

let site: Site;

beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site?.close());

const applied: Manifest[] = [];

afterEach(async () => {
  site.proxy.setFault(undefined);
  await site.cluster.api.remove(...applied.splice(0));
});

/** Changes are visible so soon after the API server is back. */
const VISIBLE_MS = 8_000;

test.each(['SIGTERM', 'SIGKILL'] as const)('an API server that is gone (%s) and comes back', async (signal) => {
  const { cluster, proxy, product } = site;
  const host = `${signal.toLowerCase()}.test`;
  const deleted = site.ingress(`deleted.${host}`);
  await cluster.api.apply(deleted);
  await served(`deleted.${host}`, { product });
  const standing = await probe(STEADY_HOST);
  await cluster.secondApiServer.start();

  await cluster.apiServer.stop(signal);
  const requestsBefore = proxy.requests.length;
  const begin = performance.now();
  await cluster.secondApi.remove(deleted);
  applied.push(site.ingress(host));
  await cluster.secondApi.apply(site.ingress(host));
  // Long enough for every kind to have tried several times.
  await eventually('attempts', () => proxy.requests.length - requestsBefore > 25, { timeoutMs: 60_000 });
  const seconds = (performance.now() - begin) / 1000;
  const attempts = proxy.requests.length - requestsBefore;
  expect([await product.health('/healthz'), await product.health('/readyz')]).toEqual([200, 200]);
  expect(product.process.running()).toBe(true);
  // Seven kinds and the Lease, a few times in each of the first seconds and then every few seconds.
  expect(attempts).toBeLessThan(60 + 10 * seconds);

  await cluster.apiServer.start();
  await cluster.secondApiServer.stop();
  await served(host, { timeoutMs: VISIBLE_MS, product });
  await served(`deleted.${host}`, { status: 404, timeoutMs: VISIBLE_MS, product });
  await expectNothingLost(standing);
});

test('an API server that freezes, and thaws', async () => {
  const { cluster, product } = site;
  const standing = await probe(STEADY_HOST);
  await cluster.secondApiServer.start();
  cluster.apiServer.pause();
  applied.push(site.ingress('thawed.test'));
  await cluster.secondApi.apply(site.ingress('thawed.test'));
  expect([await product.health('/healthz'), await product.health('/readyz')]).toEqual([200, 200]);
  cluster.apiServer.resume();
  await cluster.secondApiServer.stop();
  await served('thawed.test', { timeoutMs: VISIBLE_MS, product });
  await expectNothingLost(standing);
});

test('watches on which nothing comes any more are noticed', { timeout: 180_000 }, async () => {
  const { cluster, proxy, product } = site;
  const listsBefore = proxy.count('list', 'ingresses');
  proxy.freeze();
  applied.push(site.ingress('frozen.test'));
  await cluster.api.apply(site.ingress('frozen.test'));
  // Bookmarks come each minute; what says nothing for longer is broken.
  await served('frozen.test', { timeoutMs: 120_000, product });
  expect(proxy.count('list', 'ingresses')).toBe(listsBefore);
});

test('an etcd that is killed, and comes back', async () => {
  const { cluster, product } = site;
  const standing = await probe(STEADY_HOST);
  await cluster.etcd.stop('SIGKILL');
  await eventually('the API server notices', async () => (await cluster.api.send('GET', '/readyz')).status !== 200);
  expect([await product.health('/healthz'), await product.health('/readyz')]).toEqual([200, 200]);
  await cluster.etcd.start();
  await eventually('the API server recovers', async () => (await cluster.api.send('GET', '/readyz')).status === 200);
  applied.push(site.ingress('etcd.test'));
  await cluster.api.apply(site.ingress('etcd.test'));
  await served('etcd.test', { product });
  await eventually('its address', async () => {
    const { status } = await cluster.api.read(site.ingress('etcd.test'));
    return status.loadBalancer?.ingress?.length > 0;
  });
  await expectNothingLost(standing);
});

describe('a start without an API server', () => {
  test('waits, says why, and is ready when it comes', async () => {
    const { proxy } = site;
    await site.product.stop();
    proxy.setFault(() => ({ kind: 'reset' }));
    const product = await site.start();
    await eventually('that it says why', () => /127\.0\.0\.1:6445/.test(product.log()), {
      timeoutMs: 30_000,
      describe: product.log,
    });
    expect([await product.health('/healthz'), await product.health('/readyz')]).toEqual([500, 500]);
    expect(product.process.running()).toBe(true);
    proxy.setFault(undefined);
    await product.ready();
    await served(STEADY_HOST, { product });
  });

  test('takes nothing from an Envoy that is connected', async () => {
    const { cluster, proxy } = site;
    const first = await site.start({ command: 'serve' });
    await first.ready();
    const envoy = await startEnvoy(cluster, { xdsAddress: `unix:${first.xdsSocket}` });
    try {
      await served(STEADY_HOST, { product: first });
      await served(STEADY_HOST, { tls: true, product: first });
      const standing = await probe(STEADY_HOST);
      proxy.setFault(() => ({ kind: 'reset' }));
      proxy.cut();
      const second = await site.start({ command: 'serve' });
      await eventually('an attempt', () => /127\.0\.0\.1:6445/.test(second.log()), { describe: second.log });
      expect(await second.health('/readyz')).toBe(500);
      // Half of what there is, with nothing else known.
      const watchesBefore = proxy.count('watch', 'endpointslices');
      proxy.setFault(({ resource }) => (resource === 'ingresses' ? { kind: 'hang' } : undefined));
      await eventually('another kind', () => proxy.count('watch', 'endpointslices') > watchesBefore);
      expect(await second.health('/readyz')).toBe(500);
      proxy.setFault(undefined);
      proxy.cut();
      await second.ready();
      applied.push(site.ingress('again.test'));
      await cluster.api.apply(site.ingress('again.test'));
      await served('again.test', { product: second });
      await expectNothingLost(standing);
    } finally {
      proxy.setFault(undefined);
      await envoy.stop();
      await (await site.start()).ready();
    }
  });
});
