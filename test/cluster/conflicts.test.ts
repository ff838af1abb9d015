/** Ingresses that want the same host and path: the oldest has it, whatever happens around. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ingress } from '../support/manifests.ts';
import type { Manifest } from './support/api.ts';
import { type Backend, startBackend } from './support/backend.ts';
import { eventually } from './support/eventually.ts';
import { everythingBefore, webService } from './support/ingresses.ts';
import { allResources, routeTable } from './support/inspect.ts';
import { served } from './support/product.ts';
import { type Site, startSite } from './support/site.ts';
import { namespace } from './support/workloads.ts';

const OTHER_ADDRESS = '10.200.2.2';

let site: Site;
let other: Backend;
/** Its Service `web` answers `other`. */
let elsewhere: string;

beforeAll(async () => {
  site = await startSite();
  elsewhere = await namespace(site.cluster);
  other = await startBackend('other', OTHER_ADDRESS);
  await site.cluster.api.apply(...webService(elsewhere, 'web', OTHER_ADDRESS));
});
afterAll(async () => {
  await other?.close();
  await site?.close();
});

/** What is created from now on is younger than these: times of creation are whole seconds. */
async function olderThanTheRest(...manifests: readonly Manifest[]): Promise<void> {
  const created = await site.cluster.api.apply(...manifests);
  const times = created.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''));
  await eventually('the next second', () => Date.now() >= Math.max(...times) + 1000);
}

async function answers(host: string, body: string, path = '/'): Promise<void> {
  await eventually(`${body} from ${host}${path}`, async () => (await served(host, { path })).body === `${body}\n`);
}

async function answersStill(host: string, body: string, path = '/'): Promise<void> {
  await everythingBefore(site);
  expect((await served(host, { path })).body).toBe(`${body}\n`);
}

test('the older Ingress has the path, after a restart too; when it gives it up, the other one has it', async () => {
  const { api } = site.cluster;
  const host = 'claimed.test';
  const older = ingress({ name: 'zz-older', namespace: elsewhere, rules: [{ host, paths: [{}] }] });
  const younger = ingress({
    name: 'aa-younger',
    namespace: site.namespace,
    rules: [{ host, paths: [{}, { path: '/own' }] }],
  });
  await olderThanTheRest(older);
  await answers(host, 'other');
  await api.apply(younger);
  // Of the loser everything is served that nobody else wants.
  await answers(host, 'web', '/own');
  await answersStill(host, 'other');
  expect(site.product.log()).toMatch(
    new RegExp(`Ingress ${site.namespace}/aa-younger .*belongs to Ingress ${elsewhere}/zz-older .*PathConflict`),
  );
  await (await site.start()).ready();
  await answersStill(host, 'other');
  // A change makes nobody younger.
  await api.apply(ingress({ name: 'zz-older', namespace: elsewhere, rules: [{ host, paths: [{ path: '/moved' }] }] }));
  await answers(host, 'web');
  await answers(host, 'other', '/moved');
  await api.apply(older);
  await answers(host, 'other');
  await api.remove(older);
  await answers(host, 'web');
  // Deleted and created again it is the younger one.
  await api.apply(older);
  await answersStill(host, 'web');
  await api.remove(younger);
  await answers(host, 'other');
  await api.remove(older);
  await served(host, { status: 404 });
});

test('of Ingresses of the same second the last by namespace and name has the path, in whichever order they come', async () => {
  const { api } = site.cluster;
  const names = ['e', 'c', 'f', 'a', 'd', 'b'];
  const host = 'same-age.test';
  const manifests = names.flatMap((name) =>
    [elsewhere, site.namespace].map((where) =>
      ingress({ name, namespace: where, rules: [{ host, paths: [{ service: `of-${name}:80` }] }] }),
    ),
  );
  await eventually('the same second', async () => {
    const created = await Promise.all(manifests.map(async (each) => (await api.apply(each))[0]!));
    if (new Set(created.map(({ metadata }) => metadata.creationTimestamp)).size === 1) return true;
    await api.remove(...manifests);
    return false;
  });
  const winner = async () => {
    const lines = (await routeTable()).filter((line) => line.startsWith(`${host} `));
    expect(lines).toHaveLength(1);
    return lines[0];
  };
  await everythingBefore(site);
  const [first, second] = [elsewhere, site.namespace].toSorted().toReversed();
  expect(await winner()).toBe(`${host} prefix / -> ${first}/of-f/80`);
  await (await site.start()).ready();
  expect(await winner()).toBe(`${host} prefix / -> ${first}/of-f/80`);
  await api.remove(...names.map((name) => ingress({ name, namespace: first! })));
  await everythingBefore(site);
  expect(await winner()).toBe(`${host} prefix / -> ${second}/of-f/80`);
  await api.remove(...manifests);
});

test('the oldest Ingress that takes everything answers for hosts that nobody claims', async () => {
  const { api } = site.cluster;
  await everythingBefore(site);
  const before = await allResources();
  const older = ingress({ name: 'everything', namespace: elsewhere, defaultBackend: 'web:80' });
  const younger = ingress({ name: 'everything', namespace: site.namespace, defaultBackend: 'web:80' });
  await olderThanTheRest(older);
  await answers('unclaimed.test', 'other');
  await api.apply(younger);
  await answersStill('unclaimed.test', 'other');
  await api.remove(older);
  await answers('unclaimed.test', 'web');
  await api.remove(younger);
  await served('unclaimed.test', { status: 404 });
  expect(await allResources()).toEqual(before);
});
