/** Answers that are no objects, and credentials that change. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Manifest } from './support/api.ts';
import { eventually } from './support/eventually.ts';
import type { Fault } from './support/fault-proxy.ts';
import { INGRESS_NGINX_CLUSTER_RULES, roles } from './support/permissions.ts';
import { expectNothingLost, probe, served } from './support/product.ts';
import { type Site, STEADY_HOST, startSite } from './support/site.ts';

let site: Site;

beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site?.close());

const applied: Manifest[] = [];

afterEach(async () => {
  site.proxy.setFault(undefined);
  await site.cluster.api.remove(...applied.splice(0));
});

async function apply(...manifests: readonly Manifest[]): Promise<void> {
  applied.push(...manifests);
  await site.cluster.api.apply(...manifests);
}

/** Every request gets this until the product has asked `times` times for Ingresses; then all is well again. */
async function faultFor(fault: Fault, times: number): Promise<{ readonly seconds: number }> {
  const { proxy } = site;
  let asked = 0;
  const begin = performance.now();
  proxy.setFault(({ resource }) => {
    if (resource === 'ingresses') asked++;
    return fault;
  });
  proxy.cut();
  let changes = 0;
  const change = async () => {
    // A watch on which nothing comes has nothing that could break off.
    await apply(site.ingress('changing.test', `/${++changes}`));
    return asked >= times;
  };
  await eventually(`${times} requests`, change, { timeoutMs: 60_000, everyMs: 100 });
  proxy.setFault(undefined);
  return { seconds: (performance.now() - begin) / 1000 };
}

const status = (code: number, headers: Readonly<Record<string, string>> = {}): Fault => ({
  kind: 'answer',
  status: code,
  headers,
  body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message: 'planted' },
});

test.each([
  ['500', status(500)],
  ['503', status(503)],
  ['a web page with 502', { kind: 'answer', status: 502, headers: { 'content-type': 'text/html' }, body: '<html>' }],
  ['JSON that breaks off', { kind: 'truncate', bytes: 40 }],
  ['connections that are reset', { kind: 'reset' }],
] satisfies readonly (readonly [string, Fault])[])('%s for some seconds', async (name, fault) => {
  const standing = await probe(STEADY_HOST);
  await faultFor(fault, 4);
  const host = `after-${name.replaceAll(/\W+/g, '-').toLowerCase()}.test`;
  await apply(site.ingress(host));
  await served(host, { timeoutMs: 8_000, product: site.product });
  await expectNothingLost(standing);
});

test('429 is asked again as late as Retry-After says', async () => {
  const { seconds } = await faultFor(status(429, { 'retry-after': '2' }), 4);
  // Three pauses between four requests.
  expect(seconds).toBeGreaterThan(5.5);
  await apply(site.ingress('patient.test'));
  await served('patient.test', { timeoutMs: 8_000, product: site.product });
});

test('permissions that are taken away leave what is served, and their return brings what has changed', async () => {
  const { cluster, account, proxy, product } = site;
  const rules = roles({ ...account, clusterRules: INGRESS_NGINX_CLUSTER_RULES, rules: [] });
  const [clusterRole] = rules;
  const standing = await probe(STEADY_HOST);
  await cluster.api.apply({ ...clusterRole!, rules: [] });
  proxy.cut();
  const forbidden = () => cluster.audit(account.user).filter((entry) => entry.status === 403);
  await eventually('a refusal for Ingresses', () => forbidden().some(({ resource }) => resource === 'ingresses'));
  await eventually('that it says so', () => /forbidden/.test(product.log()), { describe: product.log });
  expect(await product.health('/healthz')).toBe(200);
  await apply(site.ingress('granted.test'));
  const before = forbidden().length;
  const begin = performance.now();
  await cluster.api.apply(clusterRole!);
  await served('granted.test', { timeoutMs: 20_000, product });
  const seconds = (performance.now() - begin) / 1000;
  // Six kinds, each a second or more apart.
  expect(forbidden().length - before).toBeLessThan(12 + 6 * seconds);
  await expectNothingLost(standing);
});

test('a token whose file is replaced is read again', async () => {
  const { cluster, account, proxy } = site;
  const { namespace } = account;
  const tokenFile = join(cluster.folder, 'token');
  // A token that ends with the Secret that it is bound to.
  const boundToken = async (secret: string) => {
    await cluster.api.apply({ kind: 'Secret', metadata: { name: secret, namespace } });
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account.name}/token`;
    const boundObjectRef = { kind: 'Secret', apiVersion: 'v1', name: secret };
    return (await cluster.api.create(path, { spec: { expirationSeconds: 3600, boundObjectRef } }))['status'].token;
  };
  writeFileSync(tokenFile, await boundToken('first'));
  const kubeconfig = cluster.writeKubeconfig('token-file', { tokenFile, server: proxy.url });
  const product = await site.start({ kubeconfig });
  await product.ready();
  const second = await boundToken('second');
  // As the kubelet does it: the file is replaced as a whole.
  writeFileSync(`${tokenFile}.new`, second);
  renameSync(`${tokenFile}.new`, tokenFile);
  await cluster.api.remove({ kind: 'Secret', metadata: { name: 'first', namespace } });
  proxy.cut();
  await apply(site.ingress('rotated.test'));
  await served('rotated.test', { product });
});

test('a client certificate whose files are replaced is read again', async () => {
  const { cluster, account } = site;
  const chain = join(cluster.folder, 'client.crt');
  const key = join(cluster.folder, 'client.key');
  const install = async (user: string) => {
    const pair = await cluster.pki.client(user, ['ingress-controllers']);
    writeFileSync(chain, pair.chain);
    writeFileSync(key, pair.key);
  };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'ingress-controllers' }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: account.name };
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  await cluster.api.apply({
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'by-certificate' },
    roleRef,
    subjects,
  });
  await install('controller-old');
  // Straight to the API server: the proxy has no client certificate to show.
  const kubeconfig = cluster.writeKubeconfig('certificate', { certificatePath: chain, keyPath: key });
  const product = await site.start({ kubeconfig, args: ['--disable-leader-election'] });
  await product.ready();
  await served(STEADY_HOST, { product });
  expect(cluster.audit('controller-old').length).toBeGreaterThan(0);
  await install('controller-new');
  await cluster.apiServer.restart();
  await apply(site.ingress('reissued.test'));
  await served('reissued.test', { product });
  await eventually('requests of the new user', () => cluster.audit('controller-new').length > 0);
});
