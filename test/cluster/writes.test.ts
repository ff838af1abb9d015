/** What is written into a cluster, against a real API server and with no more rights than ingress-nginx has: Leases, status, Events. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadBalancerOf } from '../../src/cluster/decode-ingress.ts';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { createEventRecorder } from '../../src/kubernetes/events.ts';
import { createLeaderElection } from '../../src/kubernetes/lease.ts';
import { createStatusWriter, type StatusWriter } from '../../src/kubernetes/status.ts';
import { ingress } from '../support/manifests.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { type Account, createAccount } from './support/permissions.ts';
import { namespace } from './support/workloads.ts';

let cluster: Cluster;
let account: Account;
let client: KubernetesClient;

beforeAll(async () => {
  cluster = await startCluster({ pods: false });
  account = await createAccount(cluster);
  client = createKubernetesClient({ kubeconfig: account.kubeconfig, userAgent: 'test' });
});
afterAll(async () => {
  const forbidden = cluster?.audit(account.user).filter(({ status }) => status === 403) ?? [];
  await cluster?.stop();
  expect(forbidden).toEqual([]);
});

const fail = (message: string) => {
  throw new Error(message);
};

describe('the Lease', () => {
  const LEASE = '/apis/coordination.k8s.io/v1/namespaces/ingress-nginx/leases/ingress-controller-leader';

  function replica(identity: string) {
    return createLeaderElection({
      client,
      namespace: account.namespace,
      name: 'ingress-controller-leader',
      identity,
      leaseMs: 4_000,
      onChange: () => {},
      onProblem: fail,
    });
  }

  test('goes from hand to hand: to the next replica, to another controller and back', async () => {
    const [a, b] = [replica('pod-a'), replica('pod-b')];
    a.start();
    await eventually('the first leads', () => a.leading);
    b.start();
    expect((await cluster.api.get(LEASE))['spec']).toMatchObject({ holderIdentity: 'pod-a', leaseDurationSeconds: 4 });
    await a.stop();
    await eventually('the second leads', () => b.leading);
    expect((await cluster.api.get(LEASE))['spec']).toMatchObject({ holderIdentity: 'pod-b', leaseTransitions: 1 });
    // As kubectl or another controller would: the Lease is theirs from now on.
    const spec = { holderIdentity: 'ingress-nginx-controller-7d9f', leaseDurationSeconds: 4 };
    await cluster.kubectl([
      '-n',
      account.namespace,
      'patch',
      'lease',
      'ingress-controller-leader',
      '--type=merge',
      '-p',
      JSON.stringify({ spec }),
    ]);
    await eventually('the second leads no more', () => !b.leading);
    await eventually('the second leads again', () => b.leading);
    await cluster.kubectl(['-n', account.namespace, 'delete', 'lease', 'ingress-controller-leader']);
    await eventually(
      'the Lease is there again',
      async () => (await cluster.api.get(LEASE))['spec'].holderIdentity === 'pod-b',
    );
    expect(b.leading).toBe(true);
    await b.stop();
  });
});

describe('the status', () => {
  const OURS = ['192.0.2.1', 'lb.example.com'];
  const READY = { served: true, programmed: true };

  function writer(leading = true): StatusWriter {
    const made = createStatusWriter({ client, intervalMs: 60_000, ackTimeoutMs: 10_000, onProblem: fail });
    made.setLeading(leading);
    made.setAddresses(OURS);
    return made;
  }

  async function addressesOf(ns: string, name: string): Promise<readonly string[]> {
    return loadBalancerOf(await cluster.api.get(`/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses/${name}`));
  }

  test('of 300 Ingresses is written by two replicas at once, each once', async () => {
    const ns = await namespace(cluster);
    const names = Array.from({ length: 300 }, (_, index) => `web${index}`);
    const rules = [{ host: 'status.test', paths: [{ service: 'web:80' }] }];
    await cluster.api.apply(...names.map((name) => ingress({ namespace: ns, name, rules })));
    const writers = [writer(), writer(false)];
    for (const status of writers) {
      for (const name of names) status.update(`${ns}/${name}`, READY);
    }
    const shown = await eventually('every status', async () => {
      const all = await cluster.api.list(`/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses`);
      return all.every((one) => loadBalancerOf(one).join() === OURS.join()) && all;
    });
    expect(shown).toHaveLength(300);
    expect(shown.every(({ metadata }) => metadata['generation'] === 1)).toBe(true);
    const written = cluster
      .audit(account.user)
      .filter(
        ({ resource, namespace: where, status }) => resource === 'ingresses/status' && where === ns && status === 200,
      );
    expect(new Set(written.map(({ name }) => name)).size).toBe(300);
    expect(written).toHaveLength(300);
    // Leaves ours, and only where it is ours.
    await cluster.kubectl([
      '-n',
      ns,
      'patch',
      'ingress',
      'web1',
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({ status: { loadBalancer: { ingress: [{ ip: '198.51.100.7' }] } } }),
    ]);
    for (const name of ['web0', 'web1']) writers[0]?.update(`${ns}/${name}`, { served: false, programmed: false });
    await eventually('an empty status', async () => (await addressesOf(ns, 'web0')).length === 0);
    expect(await addressesOf(ns, 'web1')).toEqual(['198.51.100.7']);
    await writers[1]?.stop({ clear: false });
    expect(await addressesOf(ns, 'web2')).toEqual(OURS);
    await writers[0]?.stop({ clear: true });
    expect(await addressesOf(ns, 'web2')).toEqual([]);
    await cluster.api.remove(...names.map((name) => ingress({ namespace: ns, name, rules })));
  });
});

describe('Events', () => {
  test('are what kubectl describe shows, counted, also of objects without a namespace', async () => {
    const ns = await namespace(cluster);
    const web = ingress({
      namespace: ns,
      name: 'web',
      rules: [{ host: 'events.test', paths: [{ service: 'web:80' }] }],
    });
    await cluster.api.apply(web);
    const { metadata } = await cluster.api.get(`/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses/web`);
    const recorder = createEventRecorder({
      client,
      component: 'nginx-ingress-controller',
      host: 'pod-a',
      onProblem: fail,
    });
    const ref = { kind: 'Ingress', namespace: ns, name: 'web' };
    const known = metadata.uid === undefined ? {} : { uid: metadata.uid };
    for (let time = 0; time < 3; time++) {
      recorder.record({
        ref,
        ...known,
        type: 'Warning',
        reason: 'ServiceNotFound',
        message: 'Service web does not exist',
      });
    }
    recorder.record({ ref, ...known, type: 'Normal', reason: 'Sync', message: 'é'.repeat(2_000) });
    recorder.record({
      ref: { kind: 'IngressClass', namespace: '', name: 'nginx' },
      type: 'Normal',
      reason: 'Sync',
      message: 'x',
    });
    // Of a namespace that is not there: no problem.
    recorder.record({ ref: { ...ref, namespace: 'gone' }, type: 'Normal', reason: 'Sync', message: 'x' });
    const described = await eventually('the Event', async () => {
      const text = await cluster.kubectl(['-n', ns, 'describe', 'ingress', 'web']);
      return (
        /Warning +ServiceNotFound +\S+(?: \(x3 over \S+\))? +nginx-ingress-controller +Service web does not exist/.test(
          text,
        ) && text
      );
    });
    expect(described).toMatch(/Normal +Sync/);
    await eventually('the count', async () => {
      const events = await cluster.api.list(`/api/v1/namespaces/${ns}/events`);
      return events.some(({ reason, count }) => reason === 'ServiceNotFound' && count === 3);
    });
    expect(
      (await cluster.api.list('/api/v1/namespaces/default/events')).map((one) => one['involvedObject'].kind),
    ).toEqual(['IngressClass']);
    expect(recorder.counters).toEqual({ created: 3, patched: 1, dropped: 0 });
    await recorder.stop();
    await cluster.api.remove(web);
  });
});
