/** An installation of ingress-nginx, as its chart leaves it, in which only the program is another. */
import { mkdirSync } from 'node:fs';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ingress, tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { PRODUCT_IMAGE } from './support/kubelet/images.ts';
import { PUBLISHED_ADDRESS, request, served } from './support/product.ts';
import { echoService, namespace, readyEndpoints } from './support/workloads.ts';

const INSTALLATION = join(import.meta.dirname, 'ingress-nginx/installation.yaml');
const SWAP = join(import.meta.dirname, '../../manifests/overlays/swap-image');
const USER = 'system:serviceaccount:ingress-nginx:ingress-nginx';
const WEBHOOK_SERVICE = 'ingress-nginx-controller-admission.ingress-nginx.svc';
const PODS = '/api/v1/namespaces/ingress-nginx/pods';

let cluster: Cluster;
let ns: string;

beforeAll(async () => {
  // It asks webhooks at their endpoints: nobody answers at the addresses of Services.
  cluster = await startCluster({ apiServerArgs: ['--enable-aggregator-routing=true'] });
  await cluster.kubectl(['apply', '-f', INSTALLATION]);
  // What the jobs of the chart make.
  const pair = await makePair([WEBHOOK_SERVICE]);
  const caBundle = Buffer.from(pair.chain).toString('base64');
  await cluster.api.apply({
    kind: 'Secret',
    metadata: { name: 'ingress-nginx-admission', namespace: 'ingress-nginx' },
    data: { ca: caBundle, cert: caBundle, key: Buffer.from(pair.key).toString('base64') },
  });
  await cluster.api.patch(
    '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/ingress-nginx-admission',
    [{ op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: caBundle }],
    'application/json-patch+json',
  );
  // What a cloud makes of a Service of this type.
  await cluster.api.patch('/api/v1/namespaces/ingress-nginx/services/ingress-nginx-controller/status', {
    status: { loadBalancer: { ingress: [{ ip: PUBLISHED_ADDRESS }] } },
  });
  ns = await namespace(cluster);
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(echoService({ namespace: ns, name: 'web' })));
  await readyEndpoints(cluster, ns, 'web', 1);
});
afterAll(() => cluster?.stop());

const web = (name: string, { path = '/', tls = false } = {}) =>
  ingress({
    name,
    namespace: ns,
    rules: [{ host: `${name}.test`, paths: [{ path, service: 'web:http' }] }],
    ...(tls && { tls: [{ hosts: [`${name}.test`], secretName: name }] }),
  });
const create = (object: unknown) => cluster.kubectl(['create', '-f', '-'], JSON.stringify(object));
const rolledOut = () =>
  cluster.kubectl(['-n', 'ingress-nginx', 'rollout', 'status', 'deployment/ingress-nginx-controller', '--timeout=60s']);
/** The pod that is left when the ones before it have ended. */
const onlyPod = () =>
  eventually('one pod', async () => {
    const pods = await cluster.api.list(PODS);
    return pods.length === 1 && pods[0]!;
  });

test('before the swap nothing runs, and Ingresses cannot be created', async () => {
  await eventually('the image is not found', async () => {
    const pods = await cluster.api.list(PODS);
    return pods[0]?.['status'].containerStatuses?.[0].state.waiting?.reason === 'ErrImagePull';
  });
  await expect(create(web('early'))).rejects.toThrow(/failed calling webhook/);
});

test('with another image it becomes ready, serves, and publishes its address', async () => {
  const image = `controller=${PRODUCT_IMAGE}:0.1.0`;
  await cluster.kubectl(['-n', 'ingress-nginx', 'set', 'image', 'deployment/ingress-nginx-controller', image]);
  await rolledOut();
  await cluster.api.apply(tlsSecret('first', await makePair(['first.test']), ns));
  const first = web('first', { tls: true });
  expect(await create(first)).toContain('created');
  await served('first.test', { tls: true });
  expect((await request('first.test')).status).toBe(308);
  await eventually('the address', async () => {
    const { status } = await cluster.api.read(first);
    return status.loadBalancer?.ingress?.[0]?.ip === PUBLISHED_ADDRESS;
  });
  const lease = await cluster.api.get(
    '/apis/coordination.k8s.io/v1/namespaces/ingress-nginx/leases/ingress-nginx-leader',
  );
  expect(lease['spec'].holderIdentity).toContain('ingress-nginx-controller-');
});

test('kubectl edits what the webhook allows, and shows why it denies the rest', async () => {
  const { spec } = web('edited') as unknown as { readonly spec: { readonly rules: readonly object[] } };
  const patch = [{ op: 'add', path: '/spec/rules/-', value: spec.rules[0] }];
  const edit = ['-n', ns, 'patch', 'ingress', 'first', '--type=json', '--patch', JSON.stringify(patch)];
  expect(await cluster.kubectl(edit)).toContain('patched');
  await served('edited.test', { tls: true });
  const annotation = 'nginx.ingress.kubernetes.io/server-snippet=return 200;';
  await expect(cluster.kubectl(['-n', ns, 'annotate', 'ingress', 'first', annotation])).rejects.toThrow(
    /admission webhook "validate\.nginx\.ingress\.kubernetes\.io" denied the request: .*snippets are not allowed/s,
  );
  await expect(create(web('lua', { path: '/x_by_lua' }))).rejects.toThrow(/denied the request: .*paths\[0\]/s);
  const twin = { ...web('twin'), spec: web('first')['spec'] };
  await expect(create(twin)).rejects.toThrow(/denied the request: .*belong to Ingress .*\/first already/s);
  await served('edited.test', { tls: true });
});

test('a rollout with the shipped patch ends the old pod by its hook', async () => {
  const { metadata } = await onlyPod();
  const patch = ['--patch-file', join(SWAP, 'deployment.yaml')];
  await cluster.kubectl(['-n', 'ingress-nginx', 'patch', 'deployment', 'ingress-nginx-controller', ...patch]);
  await rolledOut();
  const pod = await onlyPod();
  expect(pod.metadata.name).not.toBe(metadata.name);
  expect(cluster.kubelet.log()).not.toContain('the hook of controller');
  await served('first.test', { tls: true });
  // Liveness and readiness have asked all the time.
  expect(pod['status'].containerStatuses[0].ready).toBe(true);
  await eventually('the webhook answers', async () => {
    await create(web('second'));
    return true;
  });
  await served('second.test');
});

test('nothing that it asked for was forbidden', () => {
  const requests = cluster.audit(USER);
  expect(requests.filter(({ status }) => status === 403)).toEqual([]);
  const writes = new Set(requests.filter(({ verb }) => verb === 'update').map(({ resource }) => resource));
  expect(writes).toEqual(new Set(['ingresses/status', 'leases']));
});

test('as a component of kustomize the patch changes the image, LD_PRELOAD and the memory, and nothing else', async () => {
  const folder = join(cluster.folder, 'kustomization');
  mkdirSync(folder);
  await copyFile(INSTALLATION, join(folder, 'installation.yaml'));
  const components = [relative(folder, SWAP)];
  await writeFile(
    join(folder, 'kustomization.yaml'),
    JSON.stringify({ kind: 'Kustomization', resources: ['installation.yaml'], components }),
  );
  const rendered = parseAllDocuments(await cluster.kubectl(['kustomize', folder])).map((each) => each.toJS());
  const expected = parseAllDocuments(await readFile(INSTALLATION, 'utf8')).map((each) => each.toJS());
  const deployment = expected.find(({ kind }) => kind === 'Deployment');
  const [container] = deployment.spec.template.spec.containers;
  container.image = `${PRODUCT_IMAGE}:0.1.0`;
  container.env = container.env.filter(({ name }: { name: string }) => name !== 'LD_PRELOAD');
  container.resources.requests.memory = '512Mi';
  const sorted = (objects: readonly Named[]) => objects.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  expect(sorted(rendered)).toEqual(sorted(expected));
});

interface Named {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

function key({ kind, metadata }: Named): string {
  return `${kind} ${metadata.name}`;
}
