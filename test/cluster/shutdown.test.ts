/** The end of a control plane: what is under way is finished, and only the last replica takes the addresses back. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SAME_REQUEST_MS } from '../../src/cli/signals.ts';
import { ingress, ingressClass } from '../support/manifests.ts';
import { type Manifest, pathOf } from './support/api.ts';
import { type Backend, startBackend } from './support/backend.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { createControllerPod, deleteControllerPod, endControllerPod } from './support/controller-pods.ts';
import { eventually } from './support/eventually.ts';
import { type FaultProxy, startFaultProxy } from './support/fault-proxy.ts';
import { PUBLISHED_ADDRESS, request, served } from './support/product.ts';
import { createFleet, type Fleet, LEASE, leads, statusWrites } from './support/replicas.ts';
import { addressed, metadataOf, plainIngress, statusOf } from './support/statuses.ts';
import { namespace } from './support/workloads.ts';

const OURS = [PUBLISHED_ADDRESS];
/** Another controller of the same Deployment, before a rolling update. */
const FORMER = 'ingress-nginx-controller-7d9f';

let cluster: Cluster;
let proxy: FaultProxy;
let backend: Backend;
let fleet: Fleet;
let where: string;

beforeAll(async () => {
  cluster = await startCluster({ pods: false });
  proxy = await startFaultProxy(cluster);
  backend = await startBackend('web');
  await cluster.api.apply(ingressClass('nginx', 'k8s.io/ingress-nginx'), {
    kind: 'Namespace',
    metadata: { name: 'ingress-nginx' },
  });
});
beforeEach(async () => {
  fleet = createFleet(cluster);
  where = await namespace(cluster);
});
afterEach(async () => {
  proxy.setFault(undefined);
  await fleet?.end();
});
afterAll(async () => {
  await backend?.close();
  await proxy?.close();
  await cluster?.stop();
});

async function apply(name: string): Promise<Manifest> {
  const manifest = plainIngress(where, name);
  await cluster.api.apply(manifest);
  return manifest;
}

/** As the objects of running pods say. */
async function podsRun(...names: readonly string[]): Promise<void> {
  for (const name of names) {
    await createControllerPod(cluster, { name, node: 'node' });
    fleet.defer(() => deleteControllerPod(cluster, name));
  }
}

/** Everything that the status of an Ingress ever showed from now on. */
function follow(manifest: Manifest): readonly string[] {
  const shown: string[] = [];
  const ending = new AbortController();
  fleet.defer(() => ending.abort());
  const run = async () => {
    const path = `/apis/networking.k8s.io/v1/namespaces/${where}/ingresses?watch=1`;
    for await (const { object } of cluster.api.watch(path, ending.signal)) {
      if (object.metadata.name !== metadataOf(manifest).name) continue;
      shown.push((object['status'].loadBalancer.ingress ?? []).map(({ ip }: { ip: string }) => ip).join());
    }
  };
  run().catch(() => {});
  return shown;
}

describe('what is under way', () => {
  test('is finished while health checks fail already', async () => {
    await podsRun('flight', 'flight-other');
    const replica = await fleet.startLeader({ name: 'flight', server: proxy.url });
    fleet.proxyOf(replica);
    const going = Promise.withResolvers<void>();
    let writes = 0;
    proxy.setFault(({ method, uri }) => {
      if (method !== 'PUT' || !uri.endsWith('/ingresses/flight/status')) return undefined;
      writes++;
      return { kind: 'wait', until: going.promise };
    });
    const web = await apply('flight');
    await eventually('a write is under way', () => writes === 1);
    expect([await replica.health('/healthz'), await replica.health('/readyz')]).toEqual([200, 200]);
    replica.process.signal('SIGTERM');
    await eventually('not ready', async () => (await replica.health('/readyz')) === 500);
    expect(await replica.health('/healthz')).toBe(500);
    await eventually('it asks for other pods', () => proxy.count('list', 'pods') > 0);
    for (let look = 0; look < 20; look++) expect(await replica.health('/readyz')).toBe(500);
    expect(replica.process.running()).toBe(true);
    going.resolve();
    expect(await replica.process.exit).toBe(0);
    expect(await statusOf(cluster, web)).toEqual(OURS);
    expect(writes).toBe(1);
  });

  test('is given up when the API server does not answer, and the process ends in order', async () => {
    await podsRun('hanging');
    const replica = await fleet.startLeader({ name: 'hanging', server: proxy.url });
    fleet.proxyOf(replica);
    await addressed(cluster, await apply('hanging-before'), OURS);
    proxy.setFault(({ method }) => (method === 'GET' ? undefined : { kind: 'hang' }));
    await apply('hanging');
    await eventually('a write is under way', () =>
      proxy.requests.some(({ method, uri }) => method === 'PUT' && uri.endsWith('/ingresses/hanging/status')),
    );
    // A pod has 30 s by default; `stop` would kill it after them.
    expect(await replica.stop()).toBe(0);
  });
});

describe('the addresses', () => {
  test('are taken back by the last replica, and by no other before', async () => {
    await podsRun('last-a', 'last-b');
    const a = await fleet.startLeader({ name: 'last-a' });
    const b = await fleet.start({ name: 'last-b' });
    fleet.proxyOf(a);
    fleet.proxyOf(b);
    const all = [await apply('last-0'), await apply('last-1')];
    for (const web of all) await addressed(cluster, web, OURS);
    await endControllerPod(cluster, 'last-a');
    expect(await a.stop()).toBe(0);
    for (const web of all) expect(await statusOf(cluster, web)).toEqual(OURS);
    await leads(b);
    const before = statusWrites(where, b).length;
    await endControllerPod(cluster, 'last-b');
    expect(await b.stop()).toBe(0);
    for (const web of all) expect(await statusOf(cluster, web)).toEqual([]);
    expect(statusWrites(where, b)).toHaveLength(before + 2);
  });

  test('do not come back when all replicas end at the same time', async () => {
    await podsRun('all-a', 'all-b');
    await cluster.api.apply(...backend.manifests(where, 'web'));
    // So that the second does not come to lead.
    const args = ['--election-ttl', '10m'];
    const a = await fleet.startLeader({ name: 'all-a', command: 'run', args });
    const elsewhere = ['--http-port', '8180', '--https-port', '8543', '--shutdown-grace-period', '60'];
    const b = await fleet.start({ name: 'all-b', command: 'run', args: [...args, ...elsewhere] });
    const web = await apply('all');
    await addressed(cluster, web, OURS);
    for (const name of ['all-a', 'all-b']) await endControllerPod(cluster, name);
    b.process.signal('SIGTERM');
    const asked = performance.now();
    expect(await a.stop()).toBe(0);
    expect(await statusOf(cluster, web)).toEqual([]);
    // The other still serves, what is new as well, but nobody is to be sent there any more.
    const rules = [{ host: 'all-new.test', paths: [{ service: 'web:80' }] }];
    await cluster.api.apply(ingress({ namespace: where, name: 'all', rules }));
    await eventually('the other serves', async () => (await request('all-new.test', { port: 8180 })).status === 200);
    expect(await b.leading()).toBe(false);
    // The second signal ends it at once, unless it comes so soon that it counts as the first.
    await delay(Math.max(0, asked + SAME_REQUEST_MS + 100 - performance.now()));
    expect(await b.stop()).toBe(143);
    expect(await statusOf(cluster, web)).toEqual([]);
  });

  test('are taken back by a last replica that does not lead yet', async () => {
    await podsRun('heir-a', 'heir-b');
    const args = ['--election-ttl', '10m'];
    const a = await fleet.startLeader({ name: 'heir-a', args });
    const b = await fleet.start({ name: 'heir-b', args });
    fleet.proxyOf(b);
    const web = await apply('heir');
    await addressed(cluster, web, OURS);
    // To this one the other seems to stay.
    expect(await a.stop()).toBe(0);
    for (const name of ['heir-a', 'heir-b']) await endControllerPod(cluster, name);
    expect(await b.leading()).toBe(false);
    expect(await b.stop()).toBe(0);
    expect(await statusOf(cluster, web)).toEqual([]);
  });

  test('are taken back by a last replica whose leader was killed', async () => {
    await podsRun('orphan-a', 'orphan-b');
    const args = ['--election-ttl', '10m'];
    const a = await fleet.startLeader({ name: 'orphan-a', args });
    const b = await fleet.start({ name: 'orphan-b', args });
    fleet.proxyOf(b);
    const web = await apply('orphan');
    await addressed(cluster, web, OURS);
    await a.stop('SIGKILL');
    await deleteControllerPod(cluster, 'orphan-a');
    await endControllerPod(cluster, 'orphan-b');
    expect(await b.stop()).toBe(0);
    expect(await statusOf(cluster, web)).toEqual([]);
  });

  test('are not taken back by a follower when its leader is no pod of its labels', async () => {
    await podsRun('follower-b');
    await createControllerPod(cluster, { name: 'follower-a', node: 'node', labels: { app: 'another-release' } });
    fleet.defer(() => deleteControllerPod(cluster, 'follower-a'));
    await fleet.startLeader({ name: 'follower-a' });
    const b = await fleet.start({ name: 'follower-b' });
    fleet.proxyOf(b);
    const web = await apply('follower');
    await addressed(cluster, web, OURS);
    expect(await b.stop()).toBe(0);
    expect(await statusOf(cluster, web)).toEqual(OURS);
  });

  test('stay with --update-status-on-shutdown=false', async () => {
    await podsRun('keep');
    const replica = await fleet.startLeader({ name: 'keep', args: ['--update-status-on-shutdown=false'] });
    fleet.proxyOf(replica);
    const web = await apply('keep');
    await addressed(cluster, web, OURS);
    expect(await replica.stop()).toBe(0);
    expect(await statusOf(cluster, web)).toEqual(OURS);
  });

  test('of others stay, and ours leave all Ingresses with run, too', async () => {
    await podsRun('whole');
    await cluster.api.apply(...backend.manifests(where, 'web'));
    const product = await fleet.startLeader({ name: 'whole', command: 'run' });
    const [ours, other] = [await apply('whole'), await apply('whole-other')];
    for (const web of [ours, other]) await addressed(cluster, web, OURS);
    await served('whole.test', { product });
    await cluster.api.patch(`${pathOf(other)}/status`, {
      status: { loadBalancer: { ingress: [{ ip: '198.51.100.7' }] } },
    });
    await eventually('a look at it', async () => (await statusOf(cluster, other)).join() === '198.51.100.7');
    expect(await product.stop()).toBe(0);
    expect(await statusOf(cluster, ours)).toEqual([]);
    expect(await statusOf(cluster, other)).toEqual(['198.51.100.7']);
  });
});

describe('a rolling update', () => {
  async function holdLease(holderIdentity: string, leaseDurationSeconds: number): Promise<void> {
    await cluster.api.apply({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'ingress-controller-leader', namespace: 'ingress-nginx' },
      spec: { holderIdentity, leaseDurationSeconds },
    });
  }

  test('from another controller with the same Lease and addresses writes nothing', async () => {
    await podsRun(FORMER, 'successor');
    const all = [await apply('update-0'), await apply('update-1')];
    for (const web of all) {
      await cluster.api.patch(`${pathOf(web)}/status`, {
        status: { loadBalancer: { ingress: [{ ip: PUBLISHED_ADDRESS }] } },
      });
    }
    const shown = follow(all[0]!);
    await holdLease(FORMER, 600);
    const successor = await fleet.start({ name: 'successor' });
    fleet.proxyOf(successor);
    await addressed(cluster, await apply('update-new'), OURS);
    expect(await successor.leading()).toBe(false);
    // As ingress-nginx ends: the Lease runs out.
    await holdLease(FORMER, 1);
    await endControllerPod(cluster, FORMER);
    await leads(successor);
    await addressed(cluster, await apply('update-next'), OURS);
    expect(statusWrites(where, successor)).toEqual(['update-new', 'update-next']);
    expect(shown).not.toContain('');
    expect(shown.length).toBeGreaterThan(0);
  });

  test('to another controller takes nothing back, and leaves it the Lease', async () => {
    await podsRun('before', FORMER);
    const replica = await fleet.startLeader({ name: 'before' });
    fleet.proxyOf(replica);
    const web = await apply('handover');
    await addressed(cluster, web, OURS);
    await endControllerPod(cluster, 'before');
    expect(await replica.stop()).toBe(0);
    expect(await statusOf(cluster, web)).toEqual(OURS);
    expect((await cluster.api.get(LEASE))['spec']).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
  });
});
