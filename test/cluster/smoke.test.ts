/** The test cluster itself: what every other test of this folder takes for granted. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { startFaultProxy } from './support/fault-proxy.ts';
import { createAccount } from './support/permissions.ts';
import { echoService, namespace, readyEndpoints } from './support/workloads.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(async () => {
  await cluster?.stop();
});

describe('the test cluster', () => {
  test('is the Kubernetes that it should be', async () => {
    expect(await cluster.api.get('/version')).toMatchObject({ gitVersion: expect.stringMatching(/^v1\.36\./) });
    expect(await cluster.kubectl(['get', 'nodes'])).toMatch(/^node +Ready/m);
  });

  test('runs Deployments as pods that answer, and follows their scale', async () => {
    const ns = await namespace(cluster);
    await cluster.kubectl(
      ['apply', '-f', '-'],
      JSON.stringify(echoService({ namespace: ns, name: 'web', replicas: 2 })),
    );
    const addresses = await readyEndpoints(cluster, ns, 'web', 2);
    const answers = await Promise.all(addresses.map((address) => fetch(`http://${address}:8080/x`)));
    const pods = await Promise.all(answers.map(async (answer) => ((await answer.json()) as { pod: string }).pod));
    expect(new Set(pods).size).toBe(2);
    await cluster.kubectl(['-n', ns, 'scale', 'deployment/web', '--replicas=1']);
    await readyEndpoints(cluster, ns, 'web', 1);
  });

  test('audits what a ServiceAccount does, and forbids what it may not', async () => {
    const ns = await namespace(cluster);
    await cluster.api.apply({ kind: 'ServiceAccount', metadata: { name: 'someone', namespace: ns } });
    const someone = cluster.client({ token: await cluster.requestToken(ns, 'someone') });
    const { status } = await someone.send('GET', `/api/v1/namespaces/${ns}/secrets`);
    someone.close();
    expect(status).toBe(403);
    const user = `system:serviceaccount:${ns}:someone`;
    const [entry] = await eventually('an entry', () => cluster.audit(user).length > 0 && cluster.audit(user));
    expect(entry).toMatchObject({ verb: 'list', resource: 'secrets', namespace: ns, status: 403 });
  });

  test('has a proxy that makes faults', async () => {
    const ns = await namespace(cluster);
    const { user, kubeconfig } = await createAccount(cluster);
    const { users } = JSON.parse(readFileSync(kubeconfig, 'utf8'));
    const proxy = await startFaultProxy(cluster);
    const client = cluster.client({ server: proxy.url, token: users[0].user.token });
    try {
      const list = `/api/v1/namespaces/${ns}/configmaps`;
      expect((await client.send('GET', list)).status).toBe(200);
      proxy.setFault(() => ({ kind: 'answer', status: 429, headers: { 'retry-after': '1' } }));
      expect((await client.send('GET', list)).status).toBe(429);
      proxy.setFault(() => ({ kind: 'truncate', bytes: 20 }));
      await expect(client.send('GET', list)).rejects.toThrow();
      proxy.setFault(() => ({ kind: 'reset' }));
      await expect(client.send('GET', list)).rejects.toThrow();
      // The server ends a watch after as many seconds as it is asked for.
      proxy.setFault(() => ({ kind: 'query', set: { timeoutSeconds: '1' } }));
      for await (const event of client.watch(`${list}?watch=1`)) expect(event.type).not.toBe('ERROR');
      expect(proxy.count('list', 'configmaps')).toBe(4);
      expect(proxy.count('watch', 'configmaps')).toBe(1);
      await eventually('both lists that reached the API server', () => {
        const lists = cluster.audit(user).filter(({ verb, namespace: where }) => verb === 'list' && where === ns);
        return lists.length === 2;
      });
    } finally {
      client.close();
      await proxy.close();
    }
  });

  test('loses nothing but compacted revisions when its API server is killed', async () => {
    const { metadata } = await cluster.api.get('/api/v1/configmaps');
    const ns = await namespace(cluster);
    await cluster.compact();
    // What the API server still has in memory it would serve from there.
    await cluster.apiServer.restart({ signal: 'SIGKILL' });
    expect((await cluster.api.get(`/api/v1/namespaces/${ns}`)).metadata.name).toBe(ns);
    const query = `resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`;
    const { status, body } = await cluster.api.send('GET', `/api/v1/configmaps?${query}`);
    expect([status, body.reason]).toEqual([410, 'Expired']);
  });
});
