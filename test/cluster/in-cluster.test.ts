/** The product as a pod, with the token of its ServiceAccount and the arguments of a chart. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ingress, ingressClass } from '../support/manifests.ts';
import type { Manifest } from './support/api.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { PRODUCT_IMAGE } from './support/kubelet/images.ts';
import { type Account, createAccount } from './support/permissions.ts';
import { PUBLISHED_ADDRESS, served } from './support/product.ts';
import { echoService, namespace, readyEndpoints } from './support/workloads.ts';

let cluster: Cluster;
let account: Account;

beforeAll(async () => {
  cluster = await startCluster();
  account = await createAccount(cluster);
  await cluster.api.apply(ingressClass('nginx', 'k8s.io/ingress-nginx'));
});
afterAll(() => cluster?.stop());

function controller({ namespace: where, name }: Account): Manifest {
  const labels = { 'app.kubernetes.io/name': 'ingress-nginx', 'app.kubernetes.io/component': 'controller' };
  const field = (variable: string, fieldPath: string) => ({ name: variable, valueFrom: { fieldRef: { fieldPath } } });
  const container = {
    name: 'controller',
    image: PRODUCT_IMAGE,
    args: [
      '/nginx-ingress-controller',
      '--election-id=ingress-nginx-leader',
      '--controller-class=k8s.io/ingress-nginx',
      '--ingress-class=nginx',
      '--configmap=$(POD_NAMESPACE)/ingress-nginx-controller',
      '--report-node-internal-ip-address',
      '--envoy-concurrency=1',
    ],
    env: [field('POD_NAME', 'metadata.name'), field('POD_NAMESPACE', 'metadata.namespace')],
    // The kubelet asks on the pod's address, where the product listens as on every other.
    readinessProbe: { httpGet: { path: '/healthz', port: 10254 }, periodSeconds: 1 },
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: where },
    spec: {
      selector: { matchLabels: labels },
      strategy: { type: 'Recreate' },
      template: { metadata: { labels }, spec: { serviceAccountName: name, containers: [container] } },
    },
  };
}

test('a Deployment with the arguments of ingress-nginx serves, and publishes the address of its node', async () => {
  const ns = await namespace(cluster);
  const web = echoService({ namespace: ns, name: 'web' });
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(web));
  await readyEndpoints(cluster, ns, 'web', 1);
  const manifest = ingress({
    name: 'web',
    namespace: ns,
    rules: [{ host: 'pod.test', paths: [{ service: 'web:http' }] }],
  });
  await cluster.api.apply(manifest, controller(account));
  const flags = ['-n', account.namespace, 'rollout', 'status', `deployment/${account.name}`, '--timeout=60s'];
  await cluster.kubectl(flags);
  await served('pod.test');
  await eventually('the address', async () => {
    const { status } = await cluster.api.read(manifest);
    return status.loadBalancer?.ingress?.[0]?.ip === PUBLISHED_ADDRESS;
  });
  expect(await cluster.kubectl(['-n', account.namespace, 'get', 'lease', 'ingress-nginx-leader'])).toContain(
    account.name,
  );
  expect(cluster.audit(account.user).filter(({ status }) => status === 403)).toEqual([]);
  await cluster.api.remove(manifest);
});
