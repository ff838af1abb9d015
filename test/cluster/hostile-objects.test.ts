/** What the API server accepts although nobody should write it: each is dropped by itself, and what is good goes on. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configMap, endpointSlice, ingress, type PathSpec, service } from '../support/manifests.ts';
import type { Manifest } from './support/api.ts';
import { pathOf } from './support/api.ts';
import { eventually } from './support/eventually.ts';
import { everythingBefore, webService } from './support/ingresses.ts';
import { allResources } from './support/inspect.ts';
import { expectNothingLost, probe, request, served } from './support/product.ts';
import { type Site, STEADY_HOST, startSite } from './support/site.ts';

let site: Site;

beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site?.close());

interface Hostile {
  readonly what: string;
  readonly manifest: Manifest;
  /** Status of `/` on the host `NAME.hostile.test`; absent: it has none. */
  readonly root?: number;
  /** A path that nobody may reach, and what it answers. */
  readonly closed?: { readonly path: string; readonly status: number };
  /** What is told about it. */
  readonly told?: RegExp;
}

const specific = (path: string): PathSpec => ({ path, pathType: 'ImplementationSpecific' });
const annotation = (name: string) => `nginx.ingress.kubernetes.io/${name}`;

function hostiles(where: string): readonly Hostile[] {
  let count = 0;
  const next = () => `h${++count}`;
  /** With these paths before a good one. */
  const paths = (what: string, bad: readonly PathSpec[], more: Omit<Hostile, 'what' | 'manifest'> = {}): Hostile => {
    const name = next();
    const rules = [{ host: `${name}.hostile.test`, paths: [...bad, {}] }];
    return { what, manifest: ingress({ name, namespace: where, rules }), root: 200, ...more };
  };
  const annotated = (
    what: string,
    annotations: Readonly<Record<string, string>>,
    root: number,
    told?: RegExp,
  ): Hostile => {
    const name = next();
    const rules = [{ host: `${name}.hostile.test`, paths: [{}] }];
    return { what, manifest: ingress({ name, namespace: where, annotations, rules }), root, ...(told && { told }) };
  };
  const tls = (what: string, hosts: readonly string[]): Hostile => {
    const name = next();
    const rules = [{ host: `${name}.hostile.test`, paths: [{}] }];
    return {
      what,
      manifest: ingress({ name, namespace: where, rules, tls: [{ hosts, secretName: 'garbage' }] }),
      root: 308,
    };
  };
  const garbage = Buffer.alloc(50_000, 'x').toString('base64');
  return [
    paths('a path that ends a block', [specific('/a}{'), specific('/";'), specific("/'")]),
    paths('a path with a line end', [specific('/a\nb')], { told: /IngressPathInvalid/ }),
    paths('a path with bytes that requests encode', [specific('/späth'), specific('/a b')]),
    paths('a path that no request can carry', [specific('/a?b'), specific('/a#b')], { told: /IngressPathInvalid/ }),
    paths('a path in the syntax of expressions', [specific('/(((('), specific('/[z-a]'), specific('/(a+)+$')]),
    paths('a directive', [specific('/x alias /etc/passwd;')], { root: 404, told: /IngressRefused/ }),
    paths('a folder of secrets', [specific('/var/run/secrets')], { root: 404, told: /IngressRefused/ }),
    paths('a path of 8,000 bytes', [{ path: `/${'a'.repeat(8_000)}` }]),
    paths(
      'the same path 200 times',
      Array.from({ length: 200 }, () => ({ path: '/same' })),
    ),
    paths(
      '1,000 paths',
      Array.from({ length: 1_000 }, (_, index) => ({ path: `/p${index}` })),
    ),
    paths('a backend of a name that no Service may have', [{ path: '/bad', service: 'absent:nosuchport' }], {
      closed: { path: '/bad', status: 503 },
      told: /ServiceNotFound/,
    }),
    annotated('200 KB of annotation', { [annotation('server-alias')]: 'x'.repeat(200_000) }, 200),
    annotated('an annotation that means nothing', { [annotation('proxy-body-size')]: '∞\u0000' }, 200),
    annotated('a protection that cannot be read', { [annotation('auth-url')]: 'http://[' }, 404, /IngressRefused/),
    annotated(
      'a protection that is not there',
      { [annotation('auth-url')]: 'http://auth.test/' },
      503,
      /ProtectionUnavailable/,
    ),
    annotated(
      'a snippet',
      { [annotation('configuration-snippet')]: '} } server { return 200; }' },
      404,
      /IngressRefused/,
    ),
    tls('a Secret that holds no certificate', ['h16.hostile.test']),
    tls('1,000 hosts of a certificate', [
      'h17.hostile.test',
      ...Array.from({ length: 1_000 }, (_, index) => `c${index}.hostile.test`),
    ]),
    {
      what: 'garbage for a certificate',
      manifest: {
        kind: 'Secret',
        type: 'Opaque',
        metadata: { name: 'garbage', namespace: where },
        data: { 'tls.crt': garbage, 'tls.key': garbage },
      },
    },
    {
      what: 'endpoints that are names',
      manifest: { ...endpointSlice('names', ['example.test'], { namespace: where }), addressType: 'FQDN' },
    },
    {
      what: 'a slice without ports',
      manifest: { ...endpointSlice('web', ['10.200.2.1'], { namespace: where, suffix: 'b' }), ports: [] },
    },
    {
      what: 'the same 500 endpoints twice',
      manifest: endpointSlice(
        'dup',
        Array.from({ length: 500 }, (_, index) => `10.130.0.${1 + (index % 250)}`),
        { namespace: where },
      ),
    },
    {
      what: 'a Service of 100 ports',
      manifest: service(
        'ports',
        Array.from({ length: 100 }, (_, index) => ({ name: `p${index}`, port: 1 + index })),
        where,
      ),
    },
    { what: 'a ConfigMap called like a prototype', manifest: configMap('constructor', { '__proto__.x': 'y' }, where) },
    {
      what: 'names of the language',
      manifest: ingress({
        name: 'constructor',
        namespace: where,
        annotations: { 'x.test/constructor': 'y' },
        rules: [{ host: 'constructor.hostile.test', paths: [{ path: '/__proto__' }] }],
      }),
    },
  ];
}

test('objects that nobody should write harm nothing but themselves', async () => {
  const { api } = site.cluster;
  const where = site.namespace;
  await everythingBefore(site);
  const before = await allResources();
  await served(STEADY_HOST, { tls: true });
  const standing = await probe(STEADY_HOST);
  const all = hostiles(where);
  for (const { manifest } of all)
    await api.create(pathOf(manifest).replace(/\/[^/]+$/, ''), { apiVersion: 'v1', ...manifest });
  await everythingBefore(site);
  const log = site.product.log();
  for (const { what, manifest, root, closed, told } of all) {
    const { name } = manifest['metadata'] as { readonly name: string };
    const host = `${name}.hostile.test`;
    if (root !== undefined) expect((await request(host)).status, `${what}: ${host}`).toBe(root);
    if (closed !== undefined) expect((await request(host, { path: closed.path })).status, what).toBe(closed.status);
    if (told === undefined) continue;
    const lines = log.split('\n').filter((line) => line.includes(`Ingress ${where}/${name} `));
    expect(lines.join('\n'), what).toMatch(told);
  }
  // What is good is applied behind them as quickly as ever.
  const good = ingress({
    name: 'good',
    namespace: where,
    rules: [{ host: 'good.test', paths: [{ service: 'good:80' }] }],
  });
  await api.apply(...webService(where, 'good'), good);
  await served('good.test', { product: site.product });
  const metrics = await site.product.metrics();
  expect(metrics.sum('ingress_xds_nacks_total')).toBe(0);
  expect(log).not.toMatch(/UnitFailed|ResourceInvalid|ResourceRejected/);
  expect((await expectNothingLost(standing)).requests).toBeGreaterThan(20);
  await (await site.start()).ready();
  for (const { what, manifest, root } of all) {
    const { name } = manifest['metadata'] as { readonly name: string };
    if (root !== undefined) expect((await request(`${name}.hostile.test`)).status, `after a start: ${what}`).toBe(root);
  }
  await served('good.test');
  await api.remove(good, ...webService(where, 'good'), ...all.map(({ manifest }) => manifest));
  await everythingBefore(site);
  const comparable = (lines: readonly string[]) =>
    lines.filter((line) => !line.startsWith('secrets default-certificate '));
  await eventually(
    'nothing is left',
    async () => comparable(await allResources()).join() === comparable(before).join(),
  );
});

test('what the API server refuses is not what the product relies on', async () => {
  const where = site.namespace;
  const on = (host: string, path: PathSpec) =>
    ingress({ name: 'refused', namespace: where, rules: [{ host, paths: [path] }] });
  const classes = ingress({
    name: 'refused',
    namespace: where,
    annotations: { 'kubernetes.io/ingress.class': 'other' },
    rules: [{ paths: [{}] }],
  });
  const refused: readonly (readonly [what: string, manifest: Manifest])[] = [
    ['a host in upper case', on('UPPER.test', {})],
    ['a host with a blank', on('a b.test', {})],
    ['a wildcard inside', on('a.*.test', {})],
    ['a path that is not absolute', on('a.test', { path: 'a' })],
    ['two slashes', on('a.test', { path: '//a' })],
    ['a climbing path', on('a.test', { path: '/a/../b' })],
    ['an unknown path type', on('a.test', { pathType: 'Regex' })],
    ['two classes', classes],
    ['port 70000', on('a.test', { service: 'web:70000' })],
    ['endpoints of loopback', endpointSlice('refused', ['127.0.0.1'], { namespace: where })],
    ['endpoints of the link', endpointSlice('refused', ['169.254.169.254'], { namespace: where })],
  ];
  for (const [what, manifest] of refused) {
    const { status } = await site.cluster.api.send('POST', pathOf(manifest).replace(/\/[^/]+$/, ''), manifest);
    expect(status, what).toBe(422);
  }
});
