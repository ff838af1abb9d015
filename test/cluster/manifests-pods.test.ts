/**
 * The pods of manifests/ at work. They share one network here, without names and addresses of Services: each control plane listens on
 * its pod's address only, Envoys find them by `hostAliases`, and there is one all-in-one.
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ingress, tlsSecret } from '../support/manifests.ts';
import { makePair } from '../support/pki.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { PUBLISHED_ADDRESS, served } from './support/product.ts';
import { echoService, namespace, podLogs, readyEndpoints } from './support/workloads.ts';

const FOLDER = join(import.meta.dirname, '../../manifests');
const NAMESPACE = 'ingress-xds';
const PROXY = 'ingress-xds-proxy';
const CONTROL_PLANE = 'ingress-xds-control-plane';

let cluster: Cluster;
let ns: string;

beforeAll(async () => {
  // It asks webhooks at their endpoints: nobody answers at the addresses of Services.
  cluster = await startCluster({ apiServerArgs: ['--enable-aggregator-routing=true'] });
  ns = await namespace(cluster);
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(echoService({ namespace: ns, name: 'web' })));
  await readyEndpoints(cluster, ns, 'web', 1);
});
afterAll(() => cluster?.stop());

// biome-ignore lint/suspicious/noExplicitAny: objects of many kinds
type Rendered = any;

/** What a kustomization of these resources and components yields. */
async function render(resource: string, ...components: readonly string[]): Promise<Rendered[]> {
  const folder = mkdtempSync(join(cluster.folder, 'kustomization-'));
  const path = (name: string) => relative(folder, join(FOLDER, name));
  const kustomization = { kind: 'Kustomization', resources: [path(resource)] };
  writeFileSync(
    join(folder, 'kustomization.yaml'),
    JSON.stringify({ ...kustomization, ...(components.length > 0 && { components: components.map(path) }) }),
  );
  const text = await cluster.kubectl(['kustomize', folder]);
  return parseAllDocuments(text).map((document) => document.toJS());
}

const apply = (items: readonly Rendered[]) =>
  cluster.kubectl(['apply', '--validate=strict', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
const kubectl = (...args: readonly string[]) => cluster.kubectl(['-n', NAMESPACE, ...args]);
const rolledOut = (name: string) =>
  kubectl('rollout', 'status', `deployment/${name}`, '--timeout=50s').catch((error: Error) => {
    throw new Error(`${error.message}\n${podLogs(cluster, NAMESPACE)}`);
  });
const called = (objects: readonly Rendered[], kind: string, name: string): Rendered =>
  objects.find((object) => object.kind === kind && object.metadata.name === name);

/** What a cloud makes of a Service of this type. */
const publish = () =>
  cluster.api.patch(`/api/v1/namespaces/${NAMESPACE}/services/${PROXY}/status`, {
    status: { loadBalancer: { ingress: [{ ip: PUBLISHED_ADDRESS }] } },
  });

/** An Ingress with TLS is served, and gets the address. */
async function expectServed(name: string): Promise<void> {
  const host = `${name}.test`;
  const web = ingress({
    name,
    namespace: ns,
    rules: [{ host, paths: [{ service: 'web:http' }] }],
    tls: [{ hosts: [host], secretName: name }],
  });
  await cluster.api.apply(tlsSecret(name, await makePair([host]), ns), web);
  await served(host, { tls: true });
  await eventually('the address', async () => {
    const { status } = await cluster.api.read(web);
    return status.loadBalancer?.ingress?.[0]?.ip === PUBLISHED_ADDRESS;
  });
}

function expectNothingForbidden(account: string): void {
  const requests = cluster.audit(`system:serviceaccount:${NAMESPACE}:${account}`);
  expect(requests.length).toBeGreaterThan(0);
  expect(requests.filter(({ status }) => status === 403)).toEqual([]);
}

test('base: the Job makes certificates, two control planes and two Envoys start by them', async () => {
  const objects = await render('base', 'overlays/webhook');
  const proxy = called(objects, 'Deployment', PROXY);
  const [container] = called(objects, 'Deployment', CONTROL_PLANE).spec.template.spec.containers;
  container.args = container.args.map((arg: string) => arg.replace(/(0\.0\.0\.0)?:(18000|8443)$/, '$(POD_IP):$2'));
  container.args.push('--healthz-host=$(POD_IP)');
  await apply(objects.filter((object) => object !== proxy));
  await publish();
  await rolledOut(CONTROL_PLANE);
  await kubectl('wait', '--for=condition=complete', 'job/ingress-xds-certs', '--timeout=60s');
  const controlPlanes = await readyEndpoints(cluster, NAMESPACE, 'ingress-xds-xds', 2);
  proxy.spec.template.spec.hostAliases = controlPlanes.map((ip) => ({ ip, hostnames: ['ingress-xds-xds'] }));
  await apply([proxy]);
  await rolledOut(PROXY);
  await expectServed('base');
  expect(await readyEndpoints(cluster, NAMESPACE, PROXY, 2)).toHaveLength(2);
  expectNothingForbidden('ingress-xds');
  expectNothingForbidden('ingress-xds-certs');
  // Envoys never ask the API server.
  expect(cluster.audit(`system:serviceaccount:${NAMESPACE}:${PROXY}`)).toEqual([]);
});

test('base: with the webhook, a wrong Ingress is denied as soon as the authority is known', async () => {
  const ca = await kubectl('get', 'secret', 'ingress-xds-server-tls', '-o', 'jsonpath={.data.ca\\.crt}');
  const webhook = ['patch', 'validatingwebhookconfiguration', 'ingress-xds', '--type=json', '-p'];
  const set = (path: string, value: string) =>
    cluster.kubectl([...webhook, JSON.stringify([{ op: 'add', path: `/webhooks/0/${path}`, value }])]);
  await set('clientConfig/caBundle', ca);
  await set('failurePolicy', 'Fail');
  const lua = ingress({ name: 'lua', namespace: ns, rules: [{ host: 'lua.test', paths: [{ path: '/x_by_lua' }] }] });
  await eventually('a denial', async () => {
    const { status, body } = await cluster.api.send(
      'POST',
      `/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses?dryRun=All`,
      lua,
    );
    if (!/admission webhook .* denied the request/.test(body.message)) throw new Error(JSON.stringify(body));
    return status === 400;
  });
  await expectServed('reviewed');
});

test('base: an Envoy leaves by its hook, and the other one serves', async () => {
  await kubectl('scale', 'deployment', PROXY, '--replicas=1');
  await eventually('one pod is left', async () => {
    const pods = await cluster.api.list(`/api/v1/namespaces/${NAMESPACE}/pods`);
    return pods.filter(({ metadata }) => metadata.name.startsWith(PROXY)).length === 1;
  });
  expect(cluster.kubelet.log()).not.toContain('the hook of envoy');
  await served('base.test', { tls: true });
});

test('all-in-one: its pod serves', async () => {
  await cluster.kubectl(['delete', 'validatingwebhookconfiguration', 'ingress-xds']);
  await kubectl('delete', 'deployment', PROXY, CONTROL_PLANE);
  await kubectl('delete', 'pods', '--all', '--force', '--grace-period=0');
  const objects = await render('overlays/all-in-one');
  called(objects, 'Deployment', 'ingress-xds').spec.replicas = 1;
  await apply(objects);
  await publish();
  await rolledOut('ingress-xds');
  await expectServed('all-in-one');
  expectNothingForbidden('ingress-xds');
});
