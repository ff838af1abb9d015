/** manifests/: a real API server takes every object, and every pod under the strictest standard for pods. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ingress, ingressClass, tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { type AccountOptions, createAccount } from './support/permissions.ts';
import { PUBLISHED_ADDRESS, served, startProduct } from './support/product.ts';
import { echoService, namespace, readyEndpoints } from './support/workloads.ts';

const FOLDER = join(import.meta.dirname, '../../manifests');

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster();
  for (const name of ['ingress-xds', 'shop']) {
    await cluster.api.apply({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
    });
  }
});
afterAll(() => cluster?.stop());

interface Template {
  readonly metadata?: object;
  readonly spec: object;
}

interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: AccountOptions['rules'];
  readonly spec?: {
    readonly template?: Template;
    readonly jobTemplate?: { readonly spec: { readonly template: Template } };
  };
}

interface SidecarPod {
  readonly spec: Readonly<Record<'containers' | 'initContainers', { name: string; securityContext: unknown }[]>>;
}

/** The pods that the controllers of Kubernetes would make. */
function podsOf(objects: readonly Rendered[]): object[] {
  return objects.flatMap(({ kind, metadata: { name, namespace }, spec }) => {
    const template = spec?.jobTemplate?.spec.template ?? spec?.template;
    if (template === undefined) return [];
    const metadata = { ...template.metadata, name: `${kind.toLowerCase()}-${name}`, namespace };
    return [{ apiVersion: 'v1', kind: 'Pod', metadata, spec: template.spec }];
  });
}

test.each([
  ['base', 3],
  ['overlays/all-in-one', 1],
  ['overlays/one-namespace', 1],
])('%s is accepted, and so are its pods', async (folder, workloads) => {
  const rendered = await cluster.kubectl(['kustomize', join(FOLDER, folder)]);
  const objects = parseAllDocuments(rendered).map((document) => document.toJS() as Rendered);
  const dryRun = ['apply', '--dry-run=server', '--validate=strict', '-f', '-'];
  const answer = await cluster.kubectl(dryRun, rendered);
  expect(
    answer
      .trim()
      .split('\n')
      .filter((line) => !/ (created|configured|unchanged) \(server dry run\)$/.test(line)),
  ).toEqual([]);
  expect(answer.trim().split('\n').length).toBe(objects.length);
  const pods = podsOf(objects);
  expect(pods.length).toBeGreaterThanOrEqual(workloads);
  await cluster.kubectl(dryRun, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: pods }));
});

test('the standard for pods is enforced', async () => {
  const container = { name: 'web', image: 'web', securityContext: { privileged: true } };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'ingress-xds' },
    spec: { containers: [container] },
  };
  const creation = cluster.kubectl(['create', '--dry-run=server', '-f', '-'], JSON.stringify(pod));
  await expect(creation).rejects.toThrow('PodSecurity');
});

test('overlays/sidecar is accepted, and what it adds to a pod', async () => {
  const rendered = await cluster.kubectl(['kustomize', join(FOLDER, 'overlays/sidecar')]);
  const dryRun = ['apply', '--dry-run=server', '--validate=strict', '-f', '-'];
  await cluster.kubectl(dryRun, rendered);
  const objects = parseAllDocuments(rendered).map((document) => document.toJS() as Rendered);
  const pods = podsOf(objects.filter(({ metadata }) => metadata.namespace === 'shop')) as SidecarPod[];
  expect(pods).toHaveLength(1);
  // The application's own container, which is only an example, is as strict as what is beside it.
  const [{ spec }] = pods as [SidecarPod];
  for (const container of spec.containers) container.securityContext = spec.initContainers[0]!.securityContext;
  expect(spec.initContainers.map(({ name }) => name)).toEqual(['envoy-bootstrap', 'envoy']);
  await cluster.kubectl(dryRun, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: pods }));
});

describe('the permissions are enough, and nothing else is tried', () => {
  const rulesOf = (objects: readonly Rendered[], kind: string) =>
    objects.flatMap((object) =>
      object.kind === kind && !object.metadata.name.endsWith('-certs') ? (object.rules ?? []) : [],
    );

  test.each([
    ['base', []],
    ['overlays/one-namespace', ['--watch-namespace=']],
  ])('%s', async (folder, scope) => {
    const rendered = await cluster.kubectl(['kustomize', join(FOLDER, folder)]);
    const objects = parseAllDocuments(rendered).map((document) => document.toJS() as Rendered);
    const ns = await namespace(cluster);
    const account = await createAccount(cluster, {
      namespace: ns,
      name: 'ingress-xds',
      clusterRules: rulesOf(objects, 'ClusterRole'),
      rules: rulesOf(objects, 'Role'),
    });
    await cluster.api.apply(ingressClass('nginx', 'k8s.io/ingress-nginx'));
    const flags = [
      '--election-id=ingress-xds-leader',
      `--configmap=${ns}/ingress-xds`,
      ...scope.map((flag) => flag + ns),
    ];
    const product = startProduct(cluster, { account, args: flags });
    const host = `${ns}.test`;
    try {
      await product.ready();
      await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(echoService({ namespace: ns, name: 'web' })));
      await readyEndpoints(cluster, ns, 'web', 1);
      const tls = tlsSecret('tls', await makePair([host]), ns);
      const web = ingress({
        name: 'web',
        namespace: ns,
        rules: [{ host, paths: [{ service: 'web:http' }] }],
        tls: [{ hosts: [host], secretName: 'tls' }],
      });
      await cluster.api.apply(tls, web);
      await served(host, { tls: true, product });
      await eventually('the address', async () => {
        const { status } = await cluster.api.read(web);
        return status.loadBalancer?.ingress?.[0]?.ip === PUBLISHED_ADDRESS;
      });
    } finally {
      await product.stop();
    }
    const requests = cluster.audit(account.user);
    expect(requests.some(({ status }) => status === 200)).toBe(true);
    expect(requests.filter(({ status }) => status === 403)).toEqual([]);
  });
});
