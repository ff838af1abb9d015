/** The whole way: what `kubectl apply` brings is served by a real Envoy on the published address. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { ingress, ingressClass } from '../support/manifests.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import type { PodAnswer } from './support/kubelet/echo-pod.ts';
import { type Account, createAccount } from './support/permissions.ts';
import {
  type Product,
  PUBLISHED_ADDRESS,
  probe,
  request,
  served,
  startEnvoy,
  startProduct,
} from './support/product.ts';
import { echoService, namespace, readyEndpoints } from './support/workloads.ts';

let cluster: Cluster;
let account: Account;
let product: Product;
let ns: string;

beforeAll(async () => {
  cluster = await startCluster();
  account = await createAccount(cluster);
  await cluster.api.apply(ingressClass('nginx', 'k8s.io/ingress-nginx'));
});
afterAll(() => cluster?.stop());
beforeEach(async () => {
  ns = await namespace(cluster);
});
afterEach(async () => {
  await product?.stop();
});

async function deploy(name: string, replicas = 2): Promise<void> {
  const list = echoService({ namespace: ns, name, replicas });
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(list));
  await readyEndpoints(cluster, ns, name, replicas);
}

async function publishedAddresses(name: string): Promise<readonly string[]> {
  const { status } = await cluster.api.get(`/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses/${name}`);
  return (status.loadBalancer?.ingress ?? []).map(({ ip }: { ip: string }) => ip);
}

function webIngress(host: string, service = 'web:http') {
  return ingress({ name: 'web', namespace: ns, rules: [{ host, paths: [{ service }] }] });
}

test('an Ingress that is applied with kubectl is served, and its status says where', async () => {
  product = startProduct(cluster, { account });
  await product.ready();
  await deploy('web');
  const manifest = webIngress('applied.test');
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(manifest));
  const answer: PodAnswer = JSON.parse((await served('applied.test', { path: '/a/b?c=d', product })).body);
  expect(answer).toMatchObject({ namespace: ns, method: 'GET', url: '/a/b?c=d' });
  await served('applied.test', { tls: true, product });
  await eventually('the address', async () => (await publishedAddresses('web')).includes(PUBLISHED_ADDRESS));
  expect(await cluster.kubectl(['-n', ns, 'get', 'ingress', 'web'])).toMatch(/applied\.test +10\.200\.0\.1/);
  await cluster.api.remove(manifest);
  await served('applied.test', { status: 404, product });
});

test('an address in the status means that the very next request is answered', async () => {
  product = startProduct(cluster, { account });
  await product.ready();
  await deploy('web');
  for (const host of ['one.test', 'two.test', 'three.test']) {
    const manifest = webIngress(host);
    await cluster.api.apply(manifest);
    await eventually('the address', async () => (await publishedAddresses('web')).length > 0, { everyMs: 1 });
    expect((await request(host)).status).toBe(200);
    await cluster.api.remove(manifest);
  }
});

test('serve publishes to an Envoy that runs elsewhere', async () => {
  product = startProduct(cluster, { account, command: 'serve' });
  await product.ready();
  await deploy('web');
  const manifest = webIngress('elsewhere.test');
  await cluster.api.apply(manifest);
  const envoy = await startEnvoy(cluster, { xdsAddress: `unix:${product.xdsSocket}` });
  await served('elsewhere.test', { product });
  await eventually('the address', async () => (await publishedAddresses('web')).length > 0);
  await envoy.stop();
  await cluster.api.remove(manifest);
});

test('scaling and a rolling update of the backend lose no request', async () => {
  product = startProduct(cluster, { account });
  await product.ready();
  await deploy('web', 3);
  const manifest = webIngress('rolling.test');
  await cluster.api.apply(manifest);
  await served('rolling.test', { product });
  await served('rolling.test', { tls: true, product });
  const standing = await probe('rolling.test');
  await cluster.kubectl(['-n', ns, 'rollout', 'restart', 'deployment/web']);
  await cluster.kubectl(['-n', ns, 'rollout', 'status', 'deployment/web', '--timeout=60s']);
  await cluster.kubectl(['-n', ns, 'scale', 'deployment/web', '--replicas=1']);
  await readyEndpoints(cluster, ns, 'web', 1);
  const report = await standing.stop();
  // WebSockets end with the pod that they lead to.
  expect(report.failures).toEqual([]);
  expect(report.closed.filter((line) => !line.includes('WebSocket'))).toEqual([]);
  expect(report.requests).toBeGreaterThan(20);
  await cluster.api.remove(manifest);
});

test('the permissions of ingress-nginx suffice', async () => {
  // All the tests before acted with these, too.
  product = startProduct(cluster, { account });
  await product.ready();
  await deploy('web');
  const manifest = webIngress('permitted.test');
  await cluster.api.apply(manifest);
  await served('permitted.test', { product });
  await eventually('the address', async () => (await publishedAddresses('web')).length > 0);
  await cluster.api.remove(manifest);
  await product.stop();
  const requests = cluster.audit(account.user);
  expect(requests.length).toBeGreaterThan(10);
  expect(requests.filter(({ status }) => status === 401 || status === 403)).toEqual([]);
});
