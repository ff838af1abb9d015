/** Ingresses that are changed in place, part by part: nothing of an older version stays. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type IngressSpec, ingress } from '../support/manifests.ts';
import { type Backend, startBackend } from './support/backend.ts';
import { eventually } from './support/eventually.ts';
import { everythingBefore, webService } from './support/ingresses.ts';
import { allResources, resourceNames, routeTable } from './support/inspect.ts';
import { expectNothingLost, probe, request, served } from './support/product.ts';
import { type Site, startSite } from './support/site.ts';

const OTHER_ADDRESS = '10.200.2.2';

let site: Site;
let other: Backend;
/** With the steady Ingress alone. */
let empty: readonly string[];

beforeAll(async () => {
  site = await startSite();
  other = await startBackend('other', OTHER_ADDRESS);
  await site.cluster.api.apply(...webService(site.namespace, 'other', OTHER_ADDRESS));
  await everythingBefore(site);
  empty = await allResources();
});
afterAll(async () => {
  await other?.close();
  await site?.close();
});
beforeEach(() => everythingBefore(site));

function edited(spec: Omit<IngressSpec, 'name' | 'namespace'>) {
  return ingress({ name: 'edited', namespace: site.namespace, ...spec });
}

/** What there is beside the steady host and what is always there. */
async function routes(): Promise<readonly string[]> {
  const always = /^(?:steady\.test|\* (?:exact \/healthz|prefix \/ -> 400))/;
  const table = await routeTable();
  return table.filter((line) => !always.test(line)).map((line) => line.replaceAll(`${site.namespace}/`, ''));
}

async function becomes(expected: readonly string[]): Promise<void> {
  let last: readonly string[] = [];
  const same = async () => {
    last = await routes();
    return last.join('\n') === expected.join('\n');
  };
  await eventually('the routes', same, { timeoutMs: 10_000 }).catch(() => expect(last).toEqual(expected));
}

async function clusters(): Promise<readonly string[]> {
  return (await resourceNames('clusters')).map((name) => name.replace(`${site.namespace}/`, ''));
}

const NO_ROUTE = '* prefix / -> 404';

test('host, path, backend, default backend and rules without paths, each changed in place', async () => {
  const { api } = site.cluster;
  const a = 'a.edit.test';
  await api.apply(edited({ rules: [{ host: a, paths: [{}] }] }));
  await becomes([NO_ROUTE, `${a} prefix / -> web/80`]);
  // The host.
  await api.apply(edited({ rules: [{ host: 'b.edit.test', paths: [{}] }] }));
  await becomes([NO_ROUTE, 'b.edit.test prefix / -> web/80']);
  await served(a, { status: 404 });
  // The path, and how it is compared.
  await api.apply(edited({ rules: [{ host: a, paths: [{ path: '/shop' }] }] }));
  await becomes([NO_ROUTE, `${a} prefix /shop -> web/80`, `${a} prefix / -> 404`]);
  await api.apply(edited({ rules: [{ host: a, paths: [{ path: '/shop', pathType: 'Exact' }] }] }));
  await becomes([NO_ROUTE, `${a} exact /shop -> web/80`, `${a} prefix / -> 404`]);
  await served(a, { path: '/shop/cart', status: 404 });
  // The backend.
  await api.apply(edited({ rules: [{ host: a, paths: [{ service: 'other:80' }] }] }));
  await becomes([NO_ROUTE, `${a} prefix / -> other/80`]);
  await eventually('only these clusters', async () => (await clusters()).join() === 'other/80,web/80');
  expect((await served(a)).body).toBe('other\n');
  // A default backend comes and goes.
  const rules = [{ host: a, paths: [{ path: '/shop' }] }];
  await api.apply(edited({ rules, defaultBackend: 'other:80' }));
  await becomes([NO_ROUTE, `${a} prefix /shop -> web/80`, `${a} prefix / -> other/80`]);
  expect((await served(a, { path: '/rest' })).body).toBe('other\n');
  await api.apply(edited({ rules }));
  await becomes([NO_ROUTE, `${a} prefix /shop -> web/80`, `${a} prefix / -> 404`]);
  await eventually('one cluster', async () => (await clusters()).join() === 'web/80');
  // A rule without paths.
  const bare = edited({ defaultBackend: 'other:80' });
  await api.apply({ ...bare, spec: { ...(bare['spec'] as object), rules: [{ host: a }] } });
  await becomes([NO_ROUTE, `${a} prefix / -> other/80`]);
  // No rules at all: it takes every host.
  await api.apply(bare);
  await becomes(['* prefix / -> other/80']);
  await api.apply(edited({ rules: [{ host: a, paths: [{}] }] }));
  await becomes([NO_ROUTE, `${a} prefix / -> web/80`]);
  // Rules come and go.
  await api.apply(
    edited({ rules: [{ host: a, paths: [{}] }, { host: 'c.edit.test', paths: [{}] }, { paths: [{ path: '/any' }] }] }),
  );
  await becomes(['* prefix /any -> web/80', NO_ROUTE, `${a} prefix / -> web/80`, 'c.edit.test prefix / -> web/80']);
  await api.apply(edited({ rules: [{ paths: [{}] }] }));
  await becomes(['* prefix / -> web/80']);
  await api.remove(edited({}));
  await becomes([NO_ROUTE]);
  expect(await allResources()).toEqual(empty);
});

test('a Service that is renamed loses no request and leaves nothing behind', async () => {
  const { api } = site.cluster;
  const host = 'renamed.test';
  const [before, after] = ['former', 'latter'].map((name) => webService(site.namespace, name));
  const renamed = (service: string) => edited({ rules: [{ host, paths: [{ service }] }] });
  await api.apply(...before!, renamed('former:80'));
  await served(host, { product: site.product });
  await served(host, { tls: true });
  const standing = await probe(host);
  await api.apply(...after!, renamed('latter:80'));
  await becomes([NO_ROUTE, `${host} prefix / -> latter/80`]);
  await everythingBefore(site);
  await api.remove(...before!);
  await everythingBefore(site);
  expect((await expectNothingLost(standing)).requests).toBeGreaterThan(10);
  expect((await allResources()).filter((line) => line.includes('former'))).toEqual([]);
  await api.remove(renamed(''), ...after!);
  await becomes([NO_ROUTE]);
  expect(await allResources()).toEqual(empty);
});

test('after many edits the configuration is, byte for byte, that of a fresh start', async () => {
  const { api } = site.cluster;
  const hosts = ['one.many.test', 'two.many.test', '*.many.test', undefined];
  const paths = ['/', '/a', '/a/b', '/c'];
  const services = ['web:80', 'other:80', 'absent:80'];
  const names = ['many-0', 'many-1', 'many-2', 'many-3'];
  let state = 7;
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const one = <T>(list: readonly T[]) => list[random(list.length)]!;
  const rule = () => {
    const host = one(hosts);
    return {
      ...(host !== undefined && { host }),
      paths: [{ path: one(paths), service: one(services) }, { path: one(paths) }],
    };
  };
  for (let step = 0; step < 80; step++) {
    const name = one(names);
    const manifest = ingress({ name, namespace: site.namespace, rules: [rule(), rule()] });
    if (random(4) === 0) await api.remove(manifest);
    else await api.apply(manifest);
  }
  await everythingBefore(site);
  const edited = await allResources();
  expect(edited.length).toBeGreaterThan(empty.length);
  await (await site.start()).ready();
  // The generated certificate is another one.
  const comparable = (lines: readonly string[]) =>
    lines.filter((line) => !line.startsWith('secrets default-certificate '));
  expect(comparable(await allResources())).toEqual(comparable(edited));
  await api.remove(...names.map((name) => ingress({ name, namespace: site.namespace })));
  await everythingBefore(site);
  expect(comparable(await allResources())).toEqual(comparable(empty));
  expect((await request('one.many.test')).status).toBe(404);
});
