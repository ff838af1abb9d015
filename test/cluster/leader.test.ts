/** Several replicas: who leads, who writes, and that each of them serves the same whatever becomes of the others. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ingressClass } from '../support/manifests.ts';
import { type Backend, startBackend } from './support/backend.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { type FaultProxy, startFaultProxy } from './support/fault-proxy.ts';
import { createAccount, INGRESS_NGINX_RULES, roles } from './support/permissions.ts';
import { PUBLISHED_ADDRESS, served, startEnvoy } from './support/product.ts';
import {
  createFleet,
  type Fleet,
  LEASE,
  leads,
  type Replica,
  type ReplicaOptions,
  statusWrites,
} from './support/replicas.ts';
import { addressed, metadataOf, plainIngress, statusOf } from './support/statuses.ts';
import { namespace } from './support/workloads.ts';

const OURS = [PUBLISHED_ADDRESS];
/** So that the leader never writes without an acknowledgement. */
const PATIENT = ['--status-ack-timeout', '10m'];

let cluster: Cluster;
let proxy: FaultProxy;
let backend: Backend;
let fleet: Fleet;

beforeAll(async () => {
  cluster = await startCluster({ pods: false });
  proxy = await startFaultProxy(cluster);
  backend = await startBackend('web');
  await cluster.api.apply(ingressClass('nginx', 'k8s.io/ingress-nginx'));
});
beforeEach(() => {
  fleet = createFleet(cluster, PATIENT);
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

/** The first leads. */
async function startPair(name: string, first: Partial<ReplicaOptions> = {}): Promise<readonly [Replica, Replica]> {
  const a = await fleet.startLeader({ name: `${name}-a`, ...first });
  return [a, await fleet.start({ name: `${name}-b` })];
}

async function holder(): Promise<string> {
  return (await cluster.api.get(LEASE))['spec'].holderIdentity;
}

test('two replicas with proxies write the status of each of 200 Ingresses once', async () => {
  const where = await namespace(cluster);
  const [a, b] = await startPair('many');
  fleet.proxyOf(a);
  fleet.proxyOf(b);
  const all = Array.from({ length: 200 }, (_, index) => plainIngress(where, `many-${index}`));
  await cluster.api.apply(...all);
  for (const one of all) await addressed(cluster, one, OURS);
  expect(await holder()).toBe('many-a');
  expect(await b.leading()).toBe(false);
  // Both see the same: nobody has anything left to write.
  const written = await eventually('200 writes', () => {
    const names = statusWrites(where, a, b);
    return names.length >= 200 && names;
  });
  expect(new Set(written).size).toBe(200);
  expect(written).toHaveLength(200);
  await cluster.api.remove(...all);
});

test('a leader that is killed is replaced within its lease, and comes back as a follower', async () => {
  const where = await namespace(cluster);
  const [a, b] = await startPair('killed');
  fleet.proxyOf(a);
  fleet.proxyOf(b);
  const before = plainIngress(where, 'before-kill');
  await cluster.api.apply(before);
  await addressed(cluster, before, OURS);
  await a.stop('SIGKILL');
  const after = plainIngress(where, 'after-kill');
  await cluster.api.apply(after);
  await addressed(cluster, after, OURS);
  await leads(b);
  expect((await cluster.api.get(LEASE))['spec']).toMatchObject({ holderIdentity: 'killed-b', leaseTransitions: 1 });
  const again = await fleet.start({ name: 'killed-a' });
  const last = plainIngress(where, 'after-return');
  fleet.proxyOf(again);
  await cluster.api.apply(last);
  await addressed(cluster, last, OURS);
  expect([await again.leading(), await b.leading()]).toEqual([false, true]);
  expect(statusWrites(where, a, b)).toEqual(['after-kill', 'after-return', 'before-kill']);
});

test('a leader that ends gives the Lease up at once', async () => {
  const [a, b] = await startPair('ended', { args: ['--election-ttl', '10m'] });
  expect((await cluster.api.get(LEASE))['spec']).toMatchObject({
    holderIdentity: 'ended-a',
    leaseDurationSeconds: 600,
  });
  expect(await a.stop()).toBe(0);
  await leads(b);
  expect((await cluster.api.get(LEASE))['spec']).toMatchObject({ holderIdentity: 'ended-b' });
});

describe('a leader that is cut off from the API server', () => {
  test('steps down before another leads, and neither hinders what the other serves', async () => {
    const where = await namespace(cluster);
    await cluster.api.apply(...backend.manifests(where, 'web'));
    const [a, b] = await startPair('cut', { server: proxy.url });
    const ofA = fleet.proxyOf(a);
    const envoy = await startEnvoy(cluster, { xdsAddress: `unix:${b.xdsSocket}` });
    fleet.defer(() => envoy.stop());
    const before = plainIngress(where, 'before-cut');
    await cluster.api.apply(before);
    await addressed(cluster, before, OURS);
    await eventually('both serve it', () => ofA.hasReceived('before-cut.test'));

    proxy.setFault(() => ({ kind: 'reset' }));
    proxy.cut();
    const during = plainIngress(where, 'during-cut');
    await cluster.api.apply(during);
    // The follower is as current as ever.
    await served('during-cut.test', { product: b });
    await addressed(cluster, during, OURS);
    let bothLed = false;
    await eventually('the other leads', async () => {
      const [first, second, third] = [await a.leading(), await b.leading(), await a.leading()];
      bothLed ||= first && second && third;
      return second;
    });
    expect(bothLed).toBe(false);
    expect(await a.leading()).toBe(false);
    expect(await holder()).toBe('cut-b');
    // What it had is still served.
    expect([await a.health('/healthz'), await a.health('/readyz')]).toEqual([200, 200]);
    expect(ofA.hasReceived('during-cut.test')).toBe(false);
    const late = fleet.proxyOf(a);
    await eventually('a new proxy gets what there was', () => late.hasReceived('before-cut.test'));

    const requestsBefore = proxy.requests.length;
    proxy.setFault(undefined);
    await eventually('it catches up', () => ofA.hasReceived('during-cut.test'), { describe: a.log });
    const after = plainIngress(where, 'after-cut');
    await cluster.api.apply(after);
    await addressed(cluster, after, OURS);
    await eventually('it has looked at the Lease', () =>
      proxy.requests.slice(requestsBefore).some(({ resource }) => resource === 'leases'),
    );
    expect([await a.leading(), await b.leading()]).toEqual([false, true]);
    expect(statusWrites(where, a, b)).toEqual(['after-cut', 'before-cut', 'during-cut']);
  });

  test('takes nothing back when it ends meanwhile, and ends in time', async () => {
    const where = await namespace(cluster);
    const [a, b] = await startPair('gone', { server: proxy.url });
    fleet.proxyOf(b);
    const web = plainIngress(where, 'gone');
    await cluster.api.apply(web);
    await addressed(cluster, web, OURS);
    proxy.setFault(() => ({ kind: 'hang' }));
    proxy.cut();
    expect(await a.stop()).toBe(0);
    await leads(b);
    expect(await statusOf(cluster, web)).toEqual(OURS);
  });
});

test('without permission for Leases everything but the leader is there, and a grant heals', async () => {
  const where = await namespace(cluster);
  const rules = INGRESS_NGINX_RULES.filter(({ resources }) => !resources.includes('leases'));
  const account = await createAccount(cluster, { name: 'poor', rules });
  const replica = await fleet.start({ name: 'poor', account });
  const held = fleet.proxyOf(replica);
  await eventually('that it says so', () => /grant get, create and update on leases/.test(replica.log()), {
    describe: replica.log,
  });
  const web = plainIngress(where, 'poor');
  await cluster.api.apply(web);
  await eventually('it is served', () => held.hasReceived('poor.test'));
  await addressed(cluster, web, OURS);
  expect(await replica.leading()).toBe(false);
  expect(replica.log().match(/grant get, create and update on leases/g)).toHaveLength(1);
  await cluster.api.apply(
    ...roles({ ...account, clusterRules: [], rules: INGRESS_NGINX_RULES }).filter(({ kind }) => kind === 'Role'),
  );
  await leads(replica);
  expect(await holder()).toBe('poor');
});

test('with --disable-leader-election all lead, and nobody asks for a Lease', async () => {
  const where = await namespace(cluster);
  const args = ['--disable-leader-election'];
  const [a, b] = [await fleet.start({ name: 'sole-a', args }), await fleet.start({ name: 'sole-b', args })];
  fleet.proxyOf(a);
  fleet.proxyOf(b);
  const all = Array.from({ length: 20 }, (_, index) => plainIngress(where, `sole-${index}`));
  await cluster.api.apply(...all);
  for (const one of all) await addressed(cluster, one, OURS);
  expect([await a.leading(), await b.leading()]).toEqual([true, true]);
  expect(statusWrites(where, a, b)).toEqual(all.map((one) => metadataOf(one).name).toSorted());
  for (const replica of [a, b]) {
    expect(replica.requests().filter(({ resource }) => resource === 'leases')).toEqual([]);
  }
});

test('replicas that came at different times serve the same resources in the same versions', async () => {
  const where = await namespace(cluster);
  const a = await fleet.start({ name: 'same-a' });
  await cluster.api.apply(...backend.manifests(where, 'web'));
  const all = Array.from({ length: 12 }, (_, index) => plainIngress(where, `same-${index}`));
  await cluster.api.apply(...all);
  const [gone, ...rest] = all;
  await cluster.api.remove(gone!);
  // Not as it came.
  const changed = rest[3]!;
  await cluster.api.apply({
    ...changed,
    spec: { ...(changed['spec'] as object), defaultBackend: { service: { name: 'web', port: { number: 80 } } } },
  });
  const b = await fleet.start({ name: 'same-b' });
  const types = ['listeners', 'scopes', 'routes', 'clusters', 'endpoints'];
  await eventually('the same versions', async () => {
    for (const type of types) {
      const [ofA, ofB] = [await a.inspect(type), await b.inspect(type)];
      expect(ofA).toEqual(ofB);
      if (type === 'clusters') expect(JSON.stringify(ofA)).toContain(where);
    }
    return true;
  });
});
