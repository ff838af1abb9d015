/** Pods that come, go, are replaced, die and hang: what Envoy is told, and what clients see of it. */
import { Agent, request as httpRequest } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ingress, ingressClass } from '../support/manifests.ts';
import type { Probe } from '../support/probe.ts';
import type { Manifest } from './support/api.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { adminSocket, difference, sentBy, untilHosts } from './support/insight.ts';
import type { PodAnswer } from './support/kubelet/echo-pod.ts';
import { createAccount } from './support/permissions.ts';
import type { RunningProcess } from './support/process.ts';
import { type Product, probe, served, startEnvoy, startProduct } from './support/product.ts';
import { type EchoServiceOptions, echoService, namespace, readyEndpoints } from './support/workloads.ts';

let cluster: Cluster;
let product: Product;
let envoy: RunningProcess;
let admin: string;

beforeAll(async () => {
  cluster = await startCluster();
  const account = await createAccount(cluster);
  await cluster.api.apply(ingressClass('nginx', 'k8s.io/ingress-nginx'));
  product = startProduct(cluster, { account, command: 'serve' });
  await product.ready();
  envoy = await startEnvoy(cluster, { xdsAddress: `unix:${product.xdsSocket}` });
  admin = adminSocket(cluster);
});
afterAll(async () => {
  await envoy?.stop();
  await product?.stop();
  await cluster?.stop();
});

let ns: string;
let host: string;
const applied: Manifest[] = [];

afterEach(async () => {
  await cluster.api.remove(...applied.splice(0));
  await cluster.kubectl(['-n', ns, 'scale', 'deployment/web', '--replicas=0']);
});

/** A Deployment with its Service `web` and an Ingress, in a namespace of its own. */
async function deploy(options: Omit<EchoServiceOptions, 'name' | 'namespace'>): Promise<void> {
  ns = await namespace(cluster);
  host = `${ns}.test`;
  const manifest = ingress({ name: 'web', namespace: ns, rules: [{ host, paths: [{ service: 'web:http' }] }] });
  applied.push(manifest);
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(echoService({ namespace: ns, name: 'web', ...options })));
  await cluster.api.apply(manifest);
  await untilReady(options.replicas ?? 1);
  await served(host, { product });
  await served(host, { tls: true, product });
}

/** Waits until so many pods are ready, and Envoy has them and no other. */
async function untilReady(count: number): Promise<void> {
  const addresses = await readyEndpoints(cluster, ns, 'web', count);
  await untilHosts(
    admin,
    `${ns}/web/80`,
    addresses.map((address) => `${address}:8080`),
  );
}

interface Pod {
  readonly name: string;
  readonly pid: number;
  readonly restarts: number;
}

async function pods(): Promise<readonly Pod[]> {
  const list = await cluster.api.list(`/api/v1/namespaces/${ns}/pods`);
  return list.map(({ metadata, status }) => {
    const [container] = status.containerStatuses ?? [];
    return {
      name: metadata.name,
      pid: Number(container?.containerID.replace('process://', '') ?? 0),
      restarts: container?.restartCount ?? 0,
    };
  });
}

async function replaceAll(replicas: number): Promise<void> {
  const before = new Set((await pods()).map(({ name }) => name));
  await cluster.kubectl(['-n', ns, 'rollout', 'restart', 'deployment/web']);
  await eventually('only new pods', async () => {
    const now = await pods();
    return now.length === replicas && now.every(({ name }) => !before.has(name));
  });
  await untilReady(replicas);
}

/** Ends the probe, which must have lost nothing but WebSockets: they end with their pod. */
async function expectAnswered(standing: Probe): Promise<void> {
  const { failures, closed, requests } = await standing.stop();
  expect({ failures, closed: closed.filter((line) => !line.includes('WebSocket')) }).toEqual({
    failures: [],
    closed: [],
  });
  expect(requests).toBeGreaterThan(10);
}

/** POST requests one after another, which nobody may send twice. Resolves with the statuses that are not 200. */
function startPosts(): () => Promise<readonly unknown[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 2 });
  const failures: unknown[] = [];
  let running = true;
  const work = async () => {
    while (running) {
      const status = await ask({ method: 'POST', agent }).then(
        (answer) => answer.status,
        (error: Error) => error.message,
      );
      if (status !== 200) failures.push(status);
    }
  };
  const workers = [work(), work()];
  return async () => {
    running = false;
    await Promise.all(workers);
    agent.destroy();
    return failures;
  };
}

interface AskOptions {
  readonly method?: string;
  readonly agent?: Agent | false;
}

/** Waits for its answer as long as it takes. */
function ask({ method = 'GET', agent = false }: AskOptions = {}): Promise<{ status: number; pod: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; pod: string }>();
  const outgoing = httpRequest({ host: '127.0.0.1', port: 80, method, agent, headers: { host } }, (response) => {
    let body = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    response.on('error', reject);
    response.on('end', () => {
      const status = response.statusCode ?? 0;
      resolve({ status, pod: status === 200 ? (JSON.parse(body) as PodAnswer).pod : '' });
    });
  });
  outgoing.on('error', reject);
  outgoing.end(method === 'POST' ? 'x=1' : undefined);
  return promise;
}

test('scaling up, down, to nothing and back sends endpoints and nothing else', async () => {
  await deploy({ replicas: 1 });
  const before = await sentBy(product);
  for (const replicas of [10, 2, 0, 1]) {
    await cluster.kubectl(['-n', ns, 'scale', 'deployment/web', `--replicas=${replicas}`]);
    await untilReady(replicas);
    await served(host, { status: replicas === 0 ? 503 : 200, product });
  }
  const sent = difference(await sentBy(product), before);
  expect(sent).toEqual({ listeners: 0, routes: 0, clusters: 0, secrets: 0, endpoints: expect.any(Number) });
  // Each of the 23 pods that came or went may be told by itself.
  expect(sent.endpoints).toBeGreaterThanOrEqual(4);
  expect(sent.endpoints).toBeLessThanOrEqual(23);
});

test('every pod gets its share', async () => {
  await deploy({ replicas: 4 });
  const answers = await Promise.all(Array.from({ length: 40 }, () => ask()));
  const counts = Object.groupBy(answers, ({ pod }) => pod);
  expect(Object.values(counts).map((group) => group?.length)).toEqual([10, 10, 10, 10]);
});

test('a rolling update of pods that wait before they end loses nothing, POST requests included', async () => {
  // After preStop they end at once: by then nothing may lead to them any more.
  await deploy({ replicas: 3, preStopSeconds: 2, env: { DRAIN_MS: '0' } });
  const standing = await probe(host);
  const stopPosts = startPosts();
  await replaceAll(3);
  expect(await stopPosts()).toEqual([]);
  await expectAnswered(standing);
});

test('a rolling update of pods that end at once loses no request that may be sent again', async () => {
  await deploy({ replicas: 3, env: { DRAIN_MS: '0' } });
  const standing = await probe(host);
  await replaceAll(3);
  await expectAnswered(standing);
});

test('pods that are killed lose no request that may be sent again', async () => {
  await deploy({ replicas: 3 });
  const standing = await probe(host);
  for (const { name, pid } of await pods()) {
    process.kill(pid, 'SIGKILL');
    await eventually('a restart', async () => (await pods()).find((pod) => pod.name === name)?.restarts === 1);
    await untilReady(3);
  }
  await expectAnswered(standing);
});

test('a pod that hangs takes nothing but its share, and gives that back when it goes on', async () => {
  await deploy({ replicas: 3 });
  const [hanging] = await pods();
  process.kill(hanging!.pid, 'SIGSTOP');
  let answered = 0;
  const requests = Array.from({ length: 30 }, async () => {
    const answer = await ask();
    answered++;
    return answer;
  });
  await eventually('the answers of two thirds', () => answered === 20);
  await untilReady(2);
  // Nothing goes there any more.
  const later = await Promise.all(Array.from({ length: 20 }, () => ask()));
  expect(later.filter(({ status, pod }) => status !== 200 || pod === hanging!.name)).toEqual([]);
  expect(answered).toBe(20);
  process.kill(hanging!.pid, 'SIGCONT');
  const all = await Promise.all(requests);
  expect(all.map(({ status }) => status)).toEqual(all.map(() => 200));
  expect(all.filter(({ pod }) => pod === hanging!.name)).toHaveLength(10);
  await untilReady(3);
});
