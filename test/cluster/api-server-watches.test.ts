/** Watches that cannot be continued, and those that end all the time. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Manifest } from './support/api.ts';
import { expectNothingLost, probe, served } from './support/product.ts';
import { type Site, STEADY_HOST, startSite } from './support/site.ts';
import { namespace } from './support/workloads.ts';

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

async function apply(...manifests: readonly Manifest[]): Promise<void> {
  applied.push(...manifests);
  await site.cluster.api.apply(...manifests);
}

/** Changes Ingresses while the product is cut off, and `forget` makes the API server unable to tell what happened. */
async function missChanges(name: string, forget: () => Promise<void>): Promise<void> {
  const { cluster, proxy, product } = site;
  const host = (which: string) => `${which}.${name}.test`;
  const deleted = site.ingress(host('deleted'));
  await apply(deleted, site.ingress(host('changed'), '/old'));
  await served(host('deleted'), { product });
  await served(host('changed'), { path: '/old', product });
  const standing = await probe(STEADY_HOST);
  const listsBefore = proxy.count('list', 'ingresses');
  const watchedBefore = proxy.watched().length;

  proxy.setFault(() => ({ kind: 'reset' }));
  proxy.cut();
  await cluster.api.remove(deleted);
  await apply(site.ingress(host('changed'), '/new'), site.ingress(host('created')));
  await forget();
  const listsWhileAway = proxy.count('list', 'ingresses') - listsBefore;
  proxy.setFault(undefined);

  await served(host('created'), { product });
  await served(host('changed'), { path: '/new', product });
  await served(host('changed'), { path: '/old', status: 404, product });
  await served(host('deleted'), { status: 404, product });
  await expectNothingLost(standing);
  // That the version is gone was said in the stream of a watch, and answered by one list.
  expect(proxy.watched().slice(watchedBefore)).toMatch(/"type":"ERROR".*"code":410/);
  expect(proxy.count('list', 'ingresses') - listsBefore - listsWhileAway).toBe(1);
  expect(listsWhileAway).toBe(0);
}

test('after a restart of the API server, which remembers no changes, what was missed is found by one list', async () => {
  await missChanges('restarted', async () => {
    await site.cluster.compact();
    await site.cluster.apiServer.restart();
  });
});

test('a compaction under a watch that comes from etcd itself is answered by one list', async () => {
  const { cluster, product } = site;
  await cluster.apiServer.restart({ args: ['--watch-cache-sizes=ingresses.networking.k8s.io#0'] });
  // Until the product has come back to it.
  await apply(site.ingress('back.compacted.test'));
  await served('back.compacted.test', { product });
  await missChanges('compacted', cluster.compact);
  await cluster.apiServer.restart();
});

test('a list in pages begins anew when its next page has gone', async () => {
  const { cluster, proxy } = site;
  const collection = `/apis/networking.k8s.io/v1/namespaces/${await namespace(cluster)}/ingresses`;
  const hosts = Array.from({ length: 600 }, (_, index) => `page-${String(index).padStart(3, '0')}.test`);
  // Their Service is in another namespace: 503, unlike hosts that nobody knows.
  const paths = [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } }];
  const spec = (host: string) => ({ ingressClassName: 'nginx', rules: [{ host, http: { paths } }] });
  const create = (host: string) => cluster.api.create(collection, { metadata: { name: host }, spec: spec(host) });
  for (let from = 0; from < hosts.length; from += 20) await Promise.all(hosts.slice(from, from + 20).map(create));
  const released = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  let held = 0;
  proxy.setFault(({ resource, uri }) => {
    if (resource !== 'ingresses' || !uri.includes('continue=') || ++held > 1) return undefined;
    reached.resolve();
    return { kind: 'wait', until: released.promise };
  });
  const before = proxy.count('list', 'ingresses');
  const product = await site.start();
  await reached.promise;
  // Of the page that has been read already.
  await cluster.api.delete(`${collection}/${hosts[0]}`);
  await cluster.compact();
  await cluster.apiServer.restart();
  released.resolve();
  await product.ready();
  await served(hosts[1]!, { status: 503, product });
  await served(hosts[599]!, { status: 503, product });
  await served(hosts[0]!, { status: 404, product });
  // Two pages, of which the second was gone, and two pages again.
  expect(proxy.count('list', 'ingresses') - before).toBe(4);
  expect((await product.metrics()).sum('ingress_xds_objects', { kind: 'ingress' })).toBe(600);
  await cluster.api.delete(collection);
  await served(hosts[1]!, { status: 404, product });
});

test('watches that end each second lose no event, and cause no list', async () => {
  const { cluster, proxy, product } = site;
  const standing = await probe(STEADY_HOST);
  // What is asked for is granted: the API server ends the watch in good order.
  proxy.setFault(({ verb }) => (verb === 'watch' ? { kind: 'query', set: { timeoutSeconds: '1' } } : undefined));
  const listsBefore = proxy.requests.filter(({ verb }) => verb === 'list').length;
  proxy.cut();
  const watchesBefore = proxy.count('watch', 'ingresses');
  const begin = performance.now();
  let changes = 0;
  while (proxy.count('watch', 'ingresses') - watchesBefore < 5) {
    const manifest = site.ingress('short.test', `/change-${++changes}`);
    if (changes === 1) applied.push(manifest);
    await cluster.api.apply(manifest);
    await served('short.test', { path: `/change-${changes}`, product });
  }
  const seconds = (performance.now() - begin) / 1000;
  const watches = proxy.count('watch', 'ingresses') - watchesBefore;
  await expectNothingLost(standing);
  expect(proxy.requests.filter(({ verb }) => verb === 'list').length - listsBefore).toBe(0);
  expect(watches).toBeLessThan(3 + 1.5 * seconds);
});
