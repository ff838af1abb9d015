/** Parts of a cluster: one namespace with a Role in it, namespaces by their labels, and permissions that come and go. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ingress } from '../support/manifests.ts';
import type { AuditEntry } from './support/audit.ts';
import { eventually } from './support/eventually.ts';
import { addressesOf, everythingBefore, webService } from './support/ingresses.ts';
import { allResources } from './support/inspect.ts';
import {
  type Account,
  createAccount,
  INGRESS_NGINX_CLUSTER_RULES,
  INGRESS_NGINX_RULES,
  roles,
} from './support/permissions.ts';
import { PUBLISHED_ADDRESS, request, served } from './support/product.ts';
import { type Site, STEADY_HOST, startSite } from './support/site.ts';
import { namespace } from './support/workloads.ts';

type Rules = typeof INGRESS_NGINX_RULES;

let site: Site;

beforeAll(async () => {
  // With controllers: one of them empties namespaces that are deleted.
  site = await startSite({});
});
afterAll(() => site?.close());

/** With a Service `web` and an Ingress to it for this host. */
async function tenant(host: string, labels: Readonly<Record<string, string>> = {}): Promise<string> {
  const where = await namespace(site.cluster, labels);
  const web = ingress({ name: 'web', namespace: where, rules: [{ host, paths: [{}] }] });
  await site.cluster.api.apply(...webService(where, 'web'), web);
  return where;
}

/** Of a ServiceAccount, in all namespaces. */
async function grant({ namespace: where, name }: Account, clusterRules: Rules, rules: Rules): Promise<void> {
  await site.cluster.api.apply(...roles({ namespace: where, name, clusterRules, rules }));
}

const without = (resource: string): Rules =>
  INGRESS_NGINX_CLUSTER_RULES.map((rule) => ({
    ...rule,
    resources: rule.resources.filter((name) => name !== resource),
  })).filter(({ resources }) => resources.length > 0);

function refused(entries: readonly AuditEntry[]): readonly AuditEntry[] {
  return entries.filter(({ status }) => status === 403);
}

test('one namespace is served with a Role in it; what it does not allow is told, and served when it is granted', async () => {
  const { api } = site.cluster;
  const team = await tenant('by-class.test');
  const account = await createAccount(site.cluster, {
    namespace: team,
    name: 'team',
    clusterRules: [],
    server: site.proxy.url,
  });
  const byAnnotation = ingress({ name: 'old', namespace: team, rules: [{ host: 'by-annotation.test', paths: [{}] }] });
  const { ingressClassName: _, ...spec } = byAnnotation['spec'] as { readonly ingressClassName: string };
  const metadata = { name: 'old', namespace: team, annotations: { 'kubernetes.io/ingress.class': 'nginx' } };
  await (await site.start({ account, args: ['--watch-namespace', team] })).ready();
  const { product } = site;
  await api.apply({ ...byAnnotation, metadata, spec });
  await served('by-annotation.test', { product });
  await eventually(
    'its address',
    async () => (await addressesOf(site.cluster, byAnnotation)).join() === PUBLISHED_ADDRESS,
  );
  expect((await request(STEADY_HOST)).status).toBe(404);
  expect((await request('by-class.test')).status).toBe(404);
  expect(product.log()).toMatch(/IngressClass cannot be read; grant the verbs list and watch on ingressclasses/);
  // Leaves the state as it is when permission comes, and goes.
  await grant(
    account,
    [{ apiGroups: ['networking.k8s.io'], resources: ['ingressclasses'], verbs: ['list', 'watch'] }],
    INGRESS_NGINX_RULES,
  );
  await served('by-class.test', { product });
  const told = product.log().length;
  await grant(account, [], INGRESS_NGINX_RULES);
  await eventually(
    'it is told again',
    () => {
      site.proxy.cut();
      return product.log().slice(told).includes('IngressClass cannot be read');
    },
    { everyMs: 1000 },
  );
  expect((await request('by-class.test')).status).toBe(200);
  expect((await request('by-annotation.test')).status).toBe(200);
  const entries = site.cluster.audit(account.user);
  expect(entries.filter(({ resource, namespace: where }) => resource !== 'ingressclasses' && where !== team)).toEqual(
    [],
  );
  expect(refused(entries).filter(({ resource }) => resource !== 'ingressclasses')).toEqual([]);
  // Two seconds apart at first, then up to fifteen.
  expect(refused(entries).length).toBeLessThan(20);
  await api.remove(byAnnotation, ingress({ name: 'web', namespace: team }));
});

test('namespaces are served while their labels match', async () => {
  const { api } = site.cluster;
  const first = await tenant('matching.test', { team: 'a' });
  const second = await tenant('other.test', { team: 'b' });
  await (await site.start({ args: ['--watch-namespace-selector', 'team=a'] })).ready();
  const { product } = site;
  const label = (where: string, team: string | null) =>
    api.patch(`/api/v1/namespaces/${where}`, { metadata: { labels: { team } } });
  await served('matching.test', { product });
  expect((await request('other.test')).status).toBe(404);
  expect((await request(STEADY_HOST)).status).toBe(404);
  const before = await allResources();
  await label(second, 'a');
  await served('other.test', { product });
  // What changes inside is followed, also while nobody may see it.
  await label(second, null);
  await served('other.test', { status: 404, product });
  await eventually('nothing of it', async () => (await allResources()).join() === before.join());
  await api.apply(ingress({ name: 'web', namespace: second, rules: [{ host: 'moved.test', paths: [{}] }] }));
  await label(second, 'a');
  await served('moved.test', { product });
  expect((await request('other.test')).status).toBe(404);
  await label(first, 'c');
  await served('matching.test', { status: 404, product });
  await served('moved.test', { product });
  await api.remove(...[first, second].map((where) => ingress({ name: 'web', namespace: where })));
  expect(refused(site.cluster.audit(site.account.user))).toEqual([]);
});

test('without permission for namespaces a selector serves what it knew, and says so; nothing at a start', async () => {
  const { api } = site.cluster;
  const where = await tenant('selected.test', { team: 'd' });
  const account = await createAccount(site.cluster, { name: 'selector', server: site.proxy.url });
  const args = ['--watch-namespace-selector', 'team=d'];
  const told = 'Namespace cannot be read; grant the verbs list and watch on namespaces';
  await (await site.start({ account, args })).ready();
  const known = site.product;
  await served('selected.test', { product: known });
  await grant(account, without('namespaces'), INGRESS_NGINX_RULES);
  await eventually(
    'it is told',
    () => {
      site.proxy.cut();
      return known.log().includes(told);
    },
    { everyMs: 1000 },
  );
  expect((await request('selected.test')).status).toBe(200);
  // Ingresses are followed all the same.
  await api.apply(ingress({ name: 'web', namespace: where, rules: [{ host: 'followed.test', paths: [{}] }] }));
  await served('followed.test', { product: known });
  const fresh = await site.start({ account, args });
  await eventually('it is told at the start', () => fresh.log().includes(told), { describe: fresh.log });
  expect(await fresh.health('/readyz')).not.toBe(200);
  await grant(account, INGRESS_NGINX_CLUSTER_RULES, INGRESS_NGINX_RULES);
  await fresh.ready();
  await served('followed.test', { product: fresh });
  await api.remove(ingress({ name: 'web', namespace: where }));
});

test('a namespace that is deleted takes everything with it', async () => {
  await (await site.start()).ready();
  await everythingBefore(site);
  const before = await allResources();
  const where = await tenant('doomed.test');
  await served('doomed.test', { product: site.product });
  await site.cluster.api.delete(`/api/v1/namespaces/${where}`);
  await served('doomed.test', { status: 404, timeoutMs: 60_000, product: site.product });
  await everythingBefore(site);
  expect(await allResources()).toEqual(before);
  await served(STEADY_HOST);
  expect(site.product.log()).not.toMatch(/status cannot be written|UnitFailed/);
});
