/** The addresses in the status of Ingresses: when they are written, what others wrote there, and where they come from. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ingressClass } from '../support/manifests.ts';
import { type Manifest, pathOf } from './support/api.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { createControllerPod, createNode, deleteControllerPod } from './support/controller-pods.ts';
import { eventually } from './support/eventually.ts';
import { type FaultProxy, startFaultProxy } from './support/fault-proxy.ts';
import { PUBLISHED_ADDRESS } from './support/product.ts';
import { createFleet, type Fleet, statusWrites } from './support/replicas.ts';
import { addressed, metadataOf, plainIngress, statusOf, writeStatus } from './support/statuses.ts';
import { namespace } from './support/workloads.ts';

const OURS = [PUBLISHED_ADDRESS];
const FOREIGN = ['198.51.100.7'];
/** So that the leader never writes without an acknowledgement. */
const PATIENT = ['--status-ack-timeout', '10m'];

let cluster: Cluster;
let proxy: FaultProxy;
let fleet: Fleet;
let where: string;

beforeAll(async () => {
  cluster = await startCluster({ pods: false });
  proxy = await startFaultProxy(cluster);
  await cluster.api.apply(ingressClass('nginx', 'k8s.io/ingress-nginx'));
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
  await proxy?.close();
  await cluster?.stop();
});

async function apply(...names: readonly string[]): Promise<readonly Manifest[]> {
  const manifests = names.map((name) => plainIngress(where, name));
  await cluster.api.apply(...manifests);
  return manifests;
}

async function applyOne(name: string): Promise<Manifest> {
  const [manifest] = await apply(name);
  return manifest!;
}

function numbered(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index}`);
}

/** The pass that brought the Ingress has done what else it does. */
async function synced(manifest: Manifest): Promise<void> {
  const { name } = metadataOf(manifest);
  await eventually(`the Event Sync of ${name}`, async () => {
    const events = await cluster.api.list(`/api/v1/namespaces/${where}/events`);
    return events.some(({ reason, involvedObject }) => reason === 'Sync' && involvedObject.name === name);
  });
}

describe('an address', () => {
  test('is written when every proxy has the Ingress in force, and not before', async () => {
    const replica = await fleet.startLeader({ name: 'ack', args: PATIENT });
    const [quick, slow] = [fleet.proxyOf(replica), fleet.proxyOf(replica)];
    await addressed(cluster, await applyOne('ack-before'), OURS);
    slow.hold();
    const web = await applyOne('ack');
    await eventually('both have got it', () => [quick, slow].every((one) => one.hasReceived('ack.test')));
    await synced(web);
    expect(await statusOf(cluster, web)).toEqual([]);
    const before = new Date().toISOString();
    slow.accept();
    await addressed(cluster, web, OURS);
    const [write] = replica.writes('ingresses/status').filter(({ name }) => name === 'ack');
    expect(write!.time > before).toBe(true);
    expect(statusWrites(where, replica)).toEqual(['ack', 'ack-before']);
  });

  test('waits while a proxy rejects', async () => {
    const replica = await fleet.startLeader({ name: 'nack', args: PATIENT });
    const proxyOfIt = fleet.proxyOf(replica);
    await addressed(cluster, await applyOne('nack-before'), OURS);
    proxyOfIt.hold();
    const web = await applyOne('nack');
    await eventually('it has got it', () => proxyOfIt.hasReceived('nack.test'));
    proxyOfIt.reject();
    await eventually('a report', () => replica.log().includes('the test rejects it'), { describe: replica.log });
    await synced(web);
    expect(await statusOf(cluster, web)).toEqual([]);
    proxyOfIt.accept();
    const next = await applyOne('nack-next');
    await addressed(cluster, next, OURS);
    await addressed(cluster, web, OURS);
    expect(statusWrites(where, replica)).toEqual(['nack', 'nack-before', 'nack-next']);
  });

  test('is written by the leader after --status-ack-timeout, whatever proxies say', async () => {
    const args = ['--status-ack-timeout', '2s'];
    const leader = await fleet.startLeader({ name: 'late-a', args });
    const follower = await fleet.start({ name: 'late-b', args });
    const proxies = [fleet.proxyOf(leader), fleet.proxyOf(follower)];
    await addressed(cluster, await applyOne('late-before'), OURS);
    for (const one of proxies) one.hold();
    const web = await applyOne('late');
    await addressed(cluster, web, OURS);
    expect(statusWrites(where, leader)).toContain('late');
    for (const one of proxies) one.accept();
    await addressed(cluster, await applyOne('late-after'), OURS);
    expect(statusWrites(where, leader, follower)).toEqual(['late', 'late-after', 'late-before']);
  });

  test('is written by a follower when all proxies are connected to it', async () => {
    const leader = await fleet.startLeader({ name: 'idle-a', args: PATIENT });
    const follower = await fleet.start({ name: 'idle-b', args: PATIENT });
    fleet.proxyOf(follower);
    const all = await apply(...numbered('idle', 10));
    for (const web of all) await addressed(cluster, web, OURS);
    expect(statusWrites(where, leader)).toEqual([]);
    expect(statusWrites(where, follower)).toHaveLength(10);
  });
});

describe('what is there already', () => {
  test('is left alone when it is right, and written once when the published addresses are others', async () => {
    const first = await fleet.startLeader({ name: 'equal-a' });
    fleet.proxyOf(first);
    const all = await apply(...numbered('equal', 10));
    for (const web of all) await addressed(cluster, web, OURS);
    await first.stop();
    expect(statusWrites(where, first)).toHaveLength(10);

    // In another order and spelling.
    const second = await fleet.startLeader({ name: 'equal-b' });
    fleet.proxyOf(second);
    await addressed(cluster, await applyOne('equal-new'), OURS);
    await second.stop();
    expect(statusWrites(where, second)).toEqual(['equal-new']);
    const looked = second
      .requests()
      .filter(({ resource, verb, namespace: ns }) => resource === 'ingresses' && verb === 'get' && ns === where);
    expect(looked.map(({ name }) => name)).toEqual(['equal-new']);

    const publish = ['--publish-status-address', '192.0.2.9,lb.example.com'];
    const third = await fleet.startLeader({ name: 'equal-c', publish });
    fleet.proxyOf(third);
    for (const web of all) await addressed(cluster, web, ['192.0.2.9', 'lb.example.com']);
    expect(statusWrites(where, third)).toEqual([...numbered('equal', 10), 'equal-new'].toSorted());
  });

  test('of somebody else is replaced by the leader alone, once in an interval', async () => {
    const args = ['--status-update-interval', '5', ...PATIENT];
    const leader = await fleet.startLeader({ name: 'foreign-a', args });
    const follower = await fleet.start({ name: 'foreign-b', args });
    fleet.proxyOf(leader);
    fleet.proxyOf(follower);
    const web = await applyOne('foreign');
    await addressed(cluster, web, OURS);
    const writesBefore = statusWrites(where, leader).length;
    await writeStatus(cluster, web, FOREIGN);
    await addressed(cluster, web, OURS);
    expect(statusWrites(where, leader)).toHaveLength(writesBefore + 1);
    expect(statusWrites(where, leader, follower)).toHaveLength(2);
  });

  test('is kept when the Ingress changes at the moment of the write', async () => {
    const replica = await fleet.startLeader({ name: 'conflict', server: proxy.url });
    fleet.proxyOf(replica);
    const changed = Promise.withResolvers<void>();
    let writes = 0;
    proxy.setFault(({ method, uri }) => {
      if (method !== 'PUT' || !uri.endsWith('/ingresses/conflict/status')) return undefined;
      writes++;
      return { kind: 'wait', until: changed.promise };
    });
    const web = await applyOne('conflict');
    await eventually('a write', () => writes > 0);
    await cluster.api.patch(pathOf(web), { metadata: { annotations: { 'example.com/team': 'shop' } } });
    changed.resolve();
    await addressed(cluster, web, OURS);
    expect((await cluster.api.read(web)).metadata.annotations).toMatchObject({ 'example.com/team': 'shop' });
    const answers = replica
      .requests()
      .filter(({ resource, name }) => resource === 'ingresses/status' && name === 'conflict');
    expect(answers.map(({ status }) => status)).toEqual([409, 200]);
  });

  test('goes with the class if it is ours, and stays if it is not', async () => {
    const replica = await fleet.startLeader({ name: 'class' });
    fleet.proxyOf(replica);
    const [ours, foreign] = await apply('class-ours', 'class-foreign');
    await addressed(cluster, ours!, OURS);
    await addressed(cluster, foreign!, OURS);
    await writeStatus(cluster, foreign!, FOREIGN);
    for (const web of [foreign!, ours!])
      await cluster.api.patch(pathOf(web), { spec: { ingressClassName: 'another' } });
    await addressed(cluster, ours!, []);
    expect(await statusOf(cluster, foreign!)).toEqual(FOREIGN);
    for (const web of [ours!, foreign!]) await cluster.api.patch(pathOf(web), { spec: { ingressClassName: 'nginx' } });
    await addressed(cluster, ours!, OURS);
    await addressed(cluster, foreign!, OURS);
    expect(statusWrites(where, replica)).toEqual([
      'class-foreign',
      'class-foreign',
      'class-ours',
      'class-ours',
      'class-ours',
    ]);
  });
});

describe('an API server that takes no writes', () => {
  test('is asked seldom, and every address is there soon after it does', async () => {
    const replica = await fleet.startLeader({ name: 'refused', server: proxy.url });
    fleet.proxyOf(replica);
    let refused = 0;
    proxy.setFault(({ method, uri }) => {
      if (method !== 'PUT' || !uri.endsWith('/status')) return undefined;
      refused++;
      return { kind: 'answer', status: 503 };
    });
    const all = await apply(...numbered('refused', 30));
    await synced(all[29]!);
    await eventually('it tries again', () => refused >= 2);
    // Those that were under way at first, and then one after the other.
    expect(refused).toBeLessThan(30);
    proxy.setFault(undefined);
    for (const web of all) await addressed(cluster, web, OURS);
    expect(statusWrites(where, replica)).toHaveLength(30);
    expect(replica.log().match(/the status cannot be written/g)).toHaveLength(1);
  });

  test('that is gone: what came meanwhile is written after it is back', async () => {
    const replica = await fleet.startLeader({ name: 'away', server: proxy.url });
    fleet.proxyOf(replica);
    await addressed(cluster, await applyOne('away-before'), OURS);
    proxy.setFault(() => ({ kind: 'reset' }));
    proxy.cut();
    const all = await apply(...numbered('away', 20));
    await eventually('it leads no more', async () => !(await replica.leading()), { describe: replica.log });
    expect(await statusOf(cluster, all[0]!)).toEqual([]);
    proxy.setFault(undefined);
    for (const web of all) await addressed(cluster, web, OURS);
    expect(statusWrites(where, replica)).toHaveLength(21);
  });
});

describe('addresses', () => {
  test('of --publish-service follow it', async () => {
    const service = {
      kind: 'Service',
      metadata: { name: 'front', namespace: 'ingress-nginx' },
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
    };
    await cluster.api.apply({ kind: 'Namespace', metadata: { name: 'ingress-nginx' } }, service);
    const path = '/api/v1/namespaces/ingress-nginx/services/front';
    const assign = (ingress: readonly unknown[]) =>
      cluster.api.patch(`${path}/status`, { status: { loadBalancer: { ingress } } });
    const publish = ['--publish-service', 'ingress-nginx/front'];
    const replica = await fleet.startLeader({ name: 'front', publish });
    fleet.proxyOf(replica);
    const web = await applyOne('front');
    await synced(web);
    // The cloud has given it no address yet.
    expect(await statusOf(cluster, web)).toEqual([]);
    await assign([{ ip: '203.0.113.1' }]);
    await addressed(cluster, web, ['203.0.113.1']);
    await assign([{ hostname: 'lb.example.com' }, { ip: '203.0.113.2' }]);
    await addressed(cluster, web, ['203.0.113.2', 'lb.example.com']);
    await cluster.api.patch(path, { spec: { externalIPs: ['203.0.113.9'] } });
    await addressed(cluster, web, ['203.0.113.2', '203.0.113.9', 'lb.example.com']);
    await cluster.api.delete(path);
    await eventually(
      'a report',
      () => /Service ingress-nginx\/front: .*keeps the addresses before/.test(replica.log()),
      {
        describe: replica.log,
      },
    );
    expect(await statusOf(cluster, web)).toHaveLength(3);
    expect(statusWrites(where, replica)).toHaveLength(3);
  });

  test('of the nodes are those on which pods of the controller are ready', async () => {
    await cluster.api.apply({ kind: 'Namespace', metadata: { name: 'ingress-nginx' } });
    await createNode(cluster, 'node-a', { InternalIP: '10.0.0.1', ExternalIP: '203.0.113.11' });
    await createNode(cluster, 'node-b', { InternalIP: '10.0.0.2', Hostname: 'node-b' });
    await createControllerPod(cluster, { name: 'nodes', node: 'node-a' });
    fleet.defer(() => Promise.all(['nodes', 'nodes-b'].map((name) => deleteControllerPod(cluster, name))));
    const args = ['--status-update-interval', '5'];
    const replica = await fleet.startLeader({ name: 'nodes', publish: [], args });
    fleet.proxyOf(replica);
    const web = await applyOne('nodes');
    await addressed(cluster, web, ['203.0.113.11']);
    await createControllerPod(cluster, { name: 'nodes-b', node: 'node-b' });
    await addressed(cluster, web, ['10.0.0.2', '203.0.113.11']);
    await deleteControllerPod(cluster, 'nodes-b');
    await addressed(cluster, web, ['203.0.113.11']);
    await replica.stop('SIGKILL');
    const internal = await fleet.start({ name: 'nodes', publish: ['--report-node-internal-ip-address'], args });
    fleet.proxyOf(internal);
    await addressed(cluster, web, ['10.0.0.1']);
  });
});
