/** What users find with kubectl describe: that an Ingress was taken over, and what is wrong with it. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { configMap, ingress, ingressClass, service } from '../support/manifests.ts';
import type { KubernetesObject } from './support/api.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { createFleet, type Fleet, type TestProxy } from './support/replicas.ts';
import { plainIngress } from './support/statuses.ts';
import { namespace } from './support/workloads.ts';

let cluster: Cluster;
let fleet: Fleet;
let where: string;

beforeAll(async () => {
  cluster = await startCluster({ pods: false });
  await cluster.api.apply(ingressClass('nginx', 'k8s.io/ingress-nginx'));
});
beforeEach(async () => {
  fleet = createFleet(cluster);
  where = await namespace(cluster);
});
afterEach(() => fleet?.end());
afterAll(() => cluster?.stop());

async function eventsOf(name: string): Promise<readonly KubernetesObject[]> {
  const all = await cluster.api.list(`/api/v1/namespaces/${where}/events`);
  return all.filter(({ involvedObject }) => involvedObject.name === name);
}

/** What `describe` shows of an Ingress: `TYPE REASON MESSAGE`. */
async function described(name: string): Promise<readonly string[]> {
  const text = await cluster.kubectl(['-n', where, 'describe', 'ingress', name]);
  const lines = text.slice(text.indexOf('Events:')).split('\n').slice(3);
  return lines.flatMap((line) => {
    const [, type, reason, message] =
      /^ +(Normal|Warning) +(\w+) +.+? +nginx-ingress-controller +(.*)$/.exec(line) ?? [];
    return type === undefined ? [] : [`${type} ${reason} ${message}`];
  });
}

async function shows(name: string, ...wanted: readonly RegExp[]): Promise<void> {
  await eventually(`Events of ${name}`, async () => {
    const lines = await described(name);
    if (wanted.some((one) => !lines.some((line) => one.test(line)))) throw new Error(lines.join(' | '));
    return true;
  });
}

/** With this host, once it has taken effect. */
async function changeHost(name: string, host: string, proxy: TestProxy): Promise<void> {
  const rules = [{ host, paths: [{ service: 'web:80' }] }];
  await cluster.api.apply(ingress({ namespace: where, name, rules }));
  await eventually(`${host} is in force`, () => proxy.hasReceived(host));
}

test('that an Ingress was taken over, and what is wrong with it', async () => {
  await fleet.start({ name: 'shown' });
  await cluster.api.apply(service('web', [{ port: 80 }], where), plainIngress(where, 'good'));
  const rules = [{ host: 'broken.test', paths: [{ service: 'gone:80' }] }];
  await cluster.api.apply(ingress({ namespace: where, name: 'broken', rules }));
  await shows('broken', /^Normal Sync Scheduled for sync$/, /^Warning ServiceNotFound .*gone/);
  await shows('good', /^Normal Sync Scheduled for sync$/);
  expect((await described('good')).filter((line) => /ServiceNotFound/.test(line))).toEqual([]);
});

test('what happens again is counted, in one Event', async () => {
  const replica = await fleet.start({ name: 'again' });
  const proxy = fleet.proxyOf(replica);
  const web = service('web', [{ port: 80 }], where);
  for (const host of ['again-0.test', 'again-1.test', 'again-2.test']) await changeHost('again', host, proxy);
  await shows('again', /^Normal Sync /, /^Warning ServiceNotFound /);
  await cluster.api.apply(web);
  await changeHost('again', 'again-3.test', proxy);
  await cluster.api.remove(web);
  await changeHost('again', 'again-4.test', proxy);
  await eventually('the counts', async () => {
    const events = await eventsOf('again');
    const counts = Object.fromEntries(events.map(({ reason, count }) => [reason, count]));
    if (counts['Sync'] !== 5 || counts['ServiceNotFound'] !== 2) throw new Error(JSON.stringify(counts));
    return true;
  });
  const reasons = (await eventsOf('again')).map(({ reason }) => reason);
  expect(reasons.toSorted()).toEqual([...new Set(reasons)].toSorted());
});

test('an Ingress that is made anew has its own', async () => {
  await fleet.start({ name: 'anew' });
  const web = plainIngress(where, 'anew');
  for (let time = 1; time <= 2; time++) {
    await cluster.api.apply(web);
    await shows('anew', /^Normal Sync /);
    await cluster.api.remove(web);
  }
  const syncs = (await eventsOf('anew')).filter(({ reason }) => reason === 'Sync');
  expect(new Set(syncs.map(({ involvedObject }) => involvedObject.uid)).size).toBe(2);
});

test('with --disable-sync-events only what is wrong', async () => {
  await fleet.start({ name: 'quiet', args: ['--disable-sync-events'] });
  await cluster.api.apply(plainIngress(where, 'quiet'));
  await shows('quiet', /^Warning ServiceNotFound /);
  expect((await described('quiet')).filter((line) => /Sync/.test(line))).toEqual([]);
});

test('that a ConfigMap of a flag came and changed, and of no other', async () => {
  const options = configMap('options', { 'proxy-read-timeout': '30' }, where);
  await cluster.api.apply(options, configMap('other', { a: 'b' }, where));
  await fleet.start({ name: 'options', args: ['--configmap', `${where}/options`] });
  await reasonsOf('options', ['CREATE']);
  await cluster.api.apply(configMap('options', { 'proxy-read-timeout': '40' }, where));
  await reasonsOf('options', ['CREATE', 'UPDATE']);
  expect(await cluster.kubectl(['-n', where, 'describe', 'configmap', 'options'])).toMatch(
    new RegExp(`Normal +UPDATE +.+nginx-ingress-controller +ConfigMap ${where}/options`),
  );
  await cluster.api.remove(options);
  await cluster.api.apply(options);
  await eventually('it came again', async () => {
    const events = await eventsOf('options');
    return new Set(events.map(({ involvedObject }) => involvedObject.uid)).size === 2;
  });
  expect(await eventsOf('other')).toEqual([]);
});

/** Of those that are no Diagnostics. */
async function reasonsOf(name: string, wanted: readonly string[]): Promise<void> {
  await eventually(`Events ${wanted.join()} of ${name}`, async () => {
    const reasons = (await eventsOf(name)).map(({ reason }) => reason).filter((reason) => /^[A-Z]+$/.test(reason));
    if (reasons.toSorted().join() !== wanted.join()) throw new Error(reasons.join());
    return true;
  });
}
