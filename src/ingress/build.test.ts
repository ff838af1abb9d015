import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import type { Ingress, KubernetesObject } from '../cluster/objects.ts';
import { objectKey } from '../model/object-ref.ts';
import { wildcardOf } from './host.ts';
import { hostsOf } from './served-ingress.ts';
import {
  backend,
  type Change,
  configMap,
  endpointSlice,
  externalName,
  ingress,
  ingressClass,
  remove,
  rule,
  secret,
  service,
  tlsSecret,
  upsert,
  World,
} from './testing.ts';

const generated = await makePair(['ingress.local']);
const pairs = [
  await makePair(['a.example.com', 'b.example.com']),
  await makePair(['*.example.com']),
  await makePair(['b.example.com', '*.example.com']),
];
const renewed = await makePair(['*.example.com']);
const options = {
  configMap: 'ingress/config',
  defaultSslCertificate: 'ns1/tls0',
  defaultBackendService: 'ns1/svc0',
  tcpServices: 'ingress/tcp',
};

const namespace = fc.constantFrom('ns0', 'ns1');
const key = (kind: string) => fc.tuple(namespace, fc.nat(2)).map(([ns, index]) => `${ns}/${kind}${index}`);
const host = fc.constantFrom(undefined, 'a.example.com', 'b.example.com', 'c.example.com', '*.example.com');
const target = fc.constantFrom('svc0:80', 'svc0:http', 'svc1:8080', 'svc2:80', 'gone:80');
const path = fc.constantFrom('/', '/a', 'Prefix /a/', 'Exact /a', 'Exact /healthz', 'bad', '/etc/group');
const annotations = fc.constantFrom<Record<string, string>>(
  {},
  {},
  { 'nginx.ingress.kubernetes.io/auth-url': 'http://auth' },
  { 'nginx.ingress.kubernetes.io/auth-tls-secret': 'ns0/ca' },
  { 'nginx.ingress.kubernetes.io/use-regex': 'true' },
);

const anyIngress: fc.Arbitrary<Ingress> = fc
  .record({
    name: key('ing'),
    creationTimestamp: fc.nat(1),
    ingressClassName: fc.constantFrom('nginx', 'nginx', 'other'),
    annotations,
    rules: fc.array(
      fc.tuple(host, fc.dictionary(path, target, { maxKeys: 3 })).map(([name, paths]) => rule(name, paths)),
      { maxLength: 2 },
    ),
    tls: fc.array(
      fc.record({
        hosts: fc.subarray(['a.example.com', 'b.example.com']),
        secretName: fc.constantFrom('tls0', 'tls1', 'tls2'),
      }),
      { maxLength: 2 },
    ),
    defaultBackend: fc.option(target.map(backend), { nil: undefined, freq: 3 }),
  })
  .map(({ name, defaultBackend, ...fields }) =>
    ingress(name, { ...fields, ...(defaultBackend === undefined ? {} : { defaultBackend }) }),
  );

const anyObject: fc.Arbitrary<KubernetesObject> = fc.oneof(
  { weight: 4, arbitrary: anyIngress },
  {
    weight: 2,
    arbitrary: fc
      .tuple(key('svc'), fc.constantFrom('http', undefined), fc.constantFrom(80, 8080))
      .map(([name, portName, port]) =>
        service(name, [{ port, ...(portName === undefined ? {} : { name: portName }) }]),
      ),
  },
  fc.tuple(key('svc'), fc.constantFrom('api.example.com', 'localhost')).map(([name, text]) => externalName(name, text)),
  {
    weight: 2,
    arbitrary: fc
      .tuple(key('slice'), fc.constantFrom('svc0', 'svc1'), fc.subarray(['10.0.0.1', '10.0.0.2', 'x']))
      .map(([name, owner, addresses]) => endpointSlice(name, owner, addresses)),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(key('tls'), fc.constantFrom(...pairs)).map(([name, pair]) => tlsSecret(name, pair)),
  },
  key('tls').map((name) => secret(name, { 'tls.crt': 'broken' })),
  fc.constantFrom(ingressClass('nginx'), ingressClass('nginx', 'example.com/other'), ingressClass('other')),
  fc.constantFrom(
    configMap('ingress/config', {}),
    configMap('ingress/config', { 'block-cidrs': '10.0.0.0/8' }),
    configMap('ingress/config', { 'block-cidrs': 'bad', 'proxy-real-ip-cidr': '10.0.0.0/8' }),
    configMap('ingress/config', { 'block-cidrs': '192.0.2.1', 'proxy-real-ip-cidr': 'bad' }),
  ),
  fc
    .dictionary(fc.constantFrom('9000', '9001', '80'), fc.constantFrom('ns0/svc0:80', 'ns1/svc1:80:PROXY:PROXY', 'x'))
    .map((data) => configMap('ingress/tcp', data)),
);
const anyChange: fc.Arbitrary<Change> = fc.oneof({ weight: 3, arbitrary: anyObject }, anyObject.map(remove));

/** What is left after all changes, in no particular order. */
function finalObjects(changes: readonly Change[]): KubernetesObject[] {
  const last = new Map<string, KubernetesObject | undefined>();
  for (const change of changes) {
    const object = 'upsert' in change ? change.upsert : 'remove' in change ? change.remove : change;
    last.set(`${object.kind} ${objectKey(object)}`, 'remove' in change ? undefined : (object as KubernetesObject));
  }
  return [...last.values()].filter((object) => object !== undefined);
}

describe('the model', () => {
  test('depends on what there is, not on the order and batching in which it came', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(anyChange, { maxLength: 4 }), { maxLength: 12 }),
        fc.infiniteStream(fc.nat()),
        (batches, order) => {
          const incremental = new World(generated, options);
          for (const batch of batches) incremental.apply(...batch);
          incremental.apply();
          const fresh = new World(generated, options);
          const { memory } = incremental.state;
          for (const remembered of memory.keys()) fresh.state.memory.set(remembered, memory.get(remembered));
          const shuffled = finalObjects(batches.flat())
            .map((object) => ({ object, rank: order.next().value ?? 0 }))
            .toSorted((a, b) => a.rank - b.rank);
          fresh.apply(...shuffled.map(({ object }) => object));
          expect(incremental.dump()).toEqual(fresh.dump());
        },
      ),
      { numRuns: 300 },
    );
  });

  test('is complete: what it refers to is there, and nothing else', () => {
    fc.assert(
      fc.property(fc.array(anyObject, { maxLength: 20 }), (objects) => {
        const world = new World(generated, options);
        world.apply(...objects);
        const { listeners, streamListeners, virtualHosts, clusters, endpoints, certificates } = world.model;
        const values = <V>(table: { keys(): Iterable<string>; get(key: string): V | undefined }) =>
          [...table.keys()].map((key) => table.get(key) as V);
        const actions = values(virtualHosts).flatMap(({ routes }) => routes.map(({ action }) => action));
        const referred = actions.flatMap((action) => (action.kind === 'forward' ? action.cluster.name : []));
        const open = values(streamListeners).map(({ cluster }) => cluster);
        expect([...clusters.keys()]).toEqual(expect.arrayContaining([...new Set([...referred, ...open])]));
        // An entry keeps its cluster while its port is closed.
        const entries = Object.values(world.state.configMaps.get('ingress/tcp')?.data ?? {});
        const written = new Set(entries.map((value) => value.split(':').slice(0, 2).join('/')));
        const others = [...clusters.keys()].filter((name) => !referred.includes(name));
        expect(others.filter((name) => !written.has(name.split('~')[0] ?? ''))).toEqual([]);
        const named = values(clusters).flatMap((cluster) => (cluster.kind === 'endpoints' ? cluster.endpoints : []));
        expect(new Set(endpoints.keys())).toEqual(new Set(named));
        const used = values(listeners).flatMap(({ serverNames }) =>
          serverNames.flatMap((target) => ('certificate' in target ? target.certificate : [])),
        );
        expect([...certificates.keys()]).toEqual(expect.arrayContaining([...new Set(used), 'default-certificate']));
        for (const { routes } of values(virtualHosts)) {
          expect(routes.at(-1)?.match).toEqual({ kind: 'prefix', path: '/' });
        }
      }),
      { numRuns: 200 },
    );
  });

  test('of other hosts does not change with an Ingress', () => {
    fc.assert(
      fc.property(fc.array(anyObject, { maxLength: 20 }), anyIngress, (objects, edited) => {
        const world = new World(generated, options);
        world.apply(...objects, ingressClass('nginx'), configMap('ingress/config', {}));
        const decisionOf = () => world.build.servedIngresses.get(objectKey(edited))?.served;
        const before = decisionOf();
        const pass = world.apply(edited);
        const concerned = [before, decisionOf()].flatMap((served) =>
          served === undefined ? [] : [...hostsOf(served)],
        );
        // A host without TLS of its own has that of the wildcard host that covers it.
        for (const changed of pass.of(world.model.virtualHosts).keys()) {
          expect(concerned).toSatisfy(
            () => concerned.includes(changed) || concerned.includes(wildcardOf(changed) ?? ''),
          );
        }
      }),
      { numRuns: 200 },
    );
  });
});

/** So many Ingresses, each with a host, a Service and TLS by one of two certificates. */
function cluster(size: number): World {
  const world = new World(generated);
  const objects = Array.from({ length: size }, (_, index) => [
    webIngress(index, { '/': `svc${index}:80`, '/api': 'shared:80' }),
    service(`shop/svc${index}`),
    endpointSlice(`shop/svc${index}-1`, `svc${index}`, ['10.0.0.1']),
  ]);
  world.apply(
    service('shop/shared'),
    tlsSecret('shop/wild', pairs[1]!),
    tlsSecret('shop/two', pairs[0]!),
    ...objects.flat(),
  );
  world.apply();
  return world;
}

function webIngress(index: number, paths: Record<string, string>): Ingress {
  const name = `h${index}.example.com`;
  return ingress(`shop/web${index}`, { rules: [rule(name, paths)], tls: [{ hosts: [name], secretName: 'wild' }] });
}

describe.each([5, 400])('what a change costs among %i Ingresses', (size) => {
  const world = cluster(size);

  test('endpoints: one unit', () => {
    const runs = world.runsOf(() => world.apply(endpointSlice('shop/svc1-1', 'svc1', ['10.0.0.9'])));
    expect(runs).toEqual({ endpoints: 1 });
  });

  test('a further slice of a Service', () => {
    const runs = world.runsOf(() => world.apply(endpointSlice('shop/svc1-2', 'svc1', ['10.0.0.7'])));
    expect(runs).toEqual({ 'slices-by-service': 1, endpoints: 1 });
  });

  test('a path to a known Service: the virtual host of its host', () => {
    let changed: Iterable<string> = [];
    const edited = webIngress(1, { '/': 'svc1:80', '/api': 'shared:80', '/new': 'shared:80' });
    const runs = world.runsOf(() => {
      changed = world.apply(edited).of(world.model.virtualHosts).keys();
    });
    expect([...changed]).toEqual(['h1.example.com']);
    expect(runs).toEqual({
      'accepted-ingress': 1,
      'served-ingress': 1,
      'covered-names': 1,
      'host-tls': 1,
      'virtual-host': 1,
    });
  });

  test('a path to a new Service: its cluster and endpoints too', () => {
    const runs = world.runsOf(() =>
      world.apply(webIngress(2, { '/': 'svc2:80', '/api': 'shared:80', '/x': 'fresh:80' })),
    );
    expect(runs).toEqual({
      'accepted-ingress': 1,
      'served-ingress': 1,
      'covered-names': 1,
      'host-tls': 1,
      'virtual-host': 1,
      // one for each cluster that the host refers to
      'cluster-references': 3,
      cluster: 1,
      'endpoints-references': 1,
      endpoints: 1,
    });
  });

  test('a certificate with equal names: the certificate alone', () => {
    const runs = world.runsOf(() => {
      const pass = world.apply(tlsSecret('shop/wild', renewed));
      expect([...pass.of(world.model.certificates).keys()]).toEqual(['shop/wild']);
    });
    expect(runs).toEqual({ certificate: 1, 'certificate-expiry': 1, 'certificate-names': 1, 'served-certificate': 1 });
  });

  test('a host under a known certificate: no listener', () => {
    const pass = world.apply(webIngress(size, { '/': 'shared:80' }));
    expect([...pass.of(world.model.virtualHosts).keys()]).toEqual([`h${size}.example.com`]);
    expect(pass.of(world.model.listeners).size).toBe(0);
    expect(pass.of(world.model.certificates).size).toBe(0);
    expect(pass.of(world.model.clusters).size).toBe(0);
  });

  test('an equal object, with another resourceVersion: nothing', () => {
    const again = { ...webIngress(3, { '/': 'svc3:80', '/api': 'shared:80' }), resourceVersion: '9', generation: 9 };
    const runs = world.runsOf(() => world.apply(upsert(again)));
    expect(Object.keys(runs).filter((name) => !['accepted-ingress', 'served-ingress'].includes(name))).toEqual([]);
  });

  test('an equal object, with another status: no unit at all', () => {
    const before = { ...webIngress(3, { '/': 'svc3:80', '/api': 'shared:80' }), uid: 'u' };
    world.apply(upsert(before));
    const runs = world.runsOf(() =>
      world.apply(upsert({ ...before, resourceVersion: '10', loadBalancer: ['192.0.2.1'] })),
    );
    expect(runs).toEqual({});
  });
});
