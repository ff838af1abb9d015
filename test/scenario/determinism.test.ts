/**
 * The whole pipeline, without a proxy: what is published depends on the objects alone, not on how they came, and an edit of one
 * Ingress reaches what belongs to it.
 */

import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { createPipeline, type Pipeline } from '../../src/cli/pipeline.ts';
import type { ObjectChange } from '../../src/cluster/cluster-state.ts';
import type { Ingress, KubernetesObject } from '../../src/cluster/objects.ts';
import { decode } from '../../src/envoy/codec.ts';
import {
  configMap,
  defaultOptions,
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
} from '../../src/ingress/testing.ts';
import { compareDiagnostics } from '../../src/model/diagnostic-change.ts';
import { DEFAULT_HOST } from '../../src/model/proxy-model.ts';
import type { Clock } from '../../src/xds/clock.ts';
import { typeUrls } from '../../src/xds/resource.ts';
import { makePair, type Pair } from '../support/pki.ts';

let generated: Pair;
let pairs: Pair[];

beforeAll(async () => {
  generated = await makePair(['ingress.local']);
  pairs = [await makePair(['a.example.com']), await makePair(['*.example.com'])];
});

/** Each notice of the controller leads to a pass of its own, at once. */
const AT_ONCE: Clock = {
  now: () => 0,
  after: (_, callback) => {
    callback();
    return () => {};
  },
  soon: (callback) => callback(),
};

function startPipeline(): Pipeline {
  const pipeline = createPipeline({
    build: {
      ...defaultOptions(generated),
      configMap: 'a/config',
      defaultBackendService: 'a/s0',
      defaultSslCertificate: 'a/t1',
    },
    emit: { ipv6: true },
    clock: AT_ONCE,
  });
  // The clock stands still, so nothing interrupts the first pass.
  void pipeline.controller.start();
  return pipeline;
}

function apply({ state, controller }: Pipeline, changes: readonly ObjectChange[]): void {
  state.apply(changes);
  controller.notify(true);
}

type Published = ReadonlyMap<string, { readonly version: string; readonly bytes: string }>;

/** Every resource, by type and name. */
function published({ emitter, store }: Pipeline): Published {
  const resources = new Map<string, { version: string; bytes: string }>();
  for (const typeUrl of new Set(emitter.resources.map((table) => table.typeUrl))) {
    const view = store.view(typeUrl);
    for (const name of [...view.names()].toSorted()) {
      const resource = view.get(name)!;
      const bytes = Buffer.from(resource.body()).toString('base64');
      resources.set(`${typeUrl} ${name}`, { version: resource.version, bytes });
    }
  }
  return resources;
}

const HOSTS = ['a.example.com', 'b.example.com', 'c.other.com', '*.example.com', undefined, 'not a host'];
const namespace = fc.constantFrom('a', 'b');

const paths = fc.dictionary(
  fc.constantFrom('Prefix /', 'Prefix /x', 'Exact /x', 'Prefix /x/y', '/z', 'Prefix x'),
  fc.constantFrom('s0:80', 's1:http', 's1:81', 's2:80', 'missing:80'),
  { minKeys: 1, maxKeys: 3, noNullPrototype: true },
);

/** Half of them old, so that age decides some conflicts and names the others. */
const anIngress: fc.Arbitrary<Ingress> = fc
  .record({
    namespace,
    name: fc.constantFrom('i0', 'i1', 'i2', 'i3'),
    creationTimestamp: fc.constantFrom(0, 1),
    rules: fc.array(
      fc.tuple(fc.constantFrom(...HOSTS), paths).map(([host, of]) => rule(host, of)),
      { maxLength: 3 },
    ),
    tls: fc.array(
      fc.record({
        hosts: fc.subarray(['a.example.com', '*.example.com', 'b.example.com']),
        secretName: fc.constantFrom('t0', 't1', 'broken', 'missing'),
      }),
      { maxLength: 2 },
    ),
    defaultBackend: fc.option(fc.constant({ service: { name: 's0', port: { number: 80 } } }), {
      freq: 4,
      nil: undefined,
    }),
    ingressClassName: fc.constantFrom('nginx', 'nginx', 'nginx', 'other'),
    annotations: fc.constantFrom<Record<string, string>[]>(
      {},
      {},
      { 'nginx.ingress.kubernetes.io/whitelist-source-range': '10.0.0.0/8' },
      { 'nginx.ingress.kubernetes.io/use-regex': 'true' },
      { 'nginx.ingress.kubernetes.io/app-root': '/app' },
    ),
  })
  .map(({ namespace: of, name, defaultBackend, ...fields }) =>
    ingress(`${of}/${name}`, { ...fields, ...(defaultBackend !== undefined && { defaultBackend }) }),
  );

const aService = fc
  .tuple(namespace, fc.constantFrom('s0', 's1', 's2'), fc.constantFrom('plain', 'named', 'external', 'loopback'))
  .map(([of, name, kind]) => {
    const key = `${of}/${name}`;
    if (kind === 'external') return externalName(key, 'api.example.com');
    if (kind === 'loopback') return externalName(key, '127.0.0.1');
    return service(key, kind === 'named' ? [{ name: 'http', port: 81 }] : [{ port: 80 }]);
  });

const aSlice = fc
  .tuple(namespace, fc.constantFrom('s0', 's1'), fc.constantFrom('x', 'y'), fc.subarray(['10.0.0.1', '10.0.0.2']))
  .map(([of, name, suffix, addresses]) =>
    endpointSlice(`${of}/${name}-${suffix}`, name, addresses, { '': 8080, http: 8081 }),
  );

const aConfigMap = fc
  .constantFrom<Record<string, string>[]>({}, { 'ssl-redirect': 'false' }, { 'denylist-source-range': '192.0.2.0/24' })
  .map((data) => configMap('a/config', data));

/** Any version of any object but a Secret: what a pair was before it broke is remembered, on purpose. */
const anObject: fc.Arbitrary<KubernetesObject> = fc.oneof(
  { weight: 6, arbitrary: anIngress },
  { weight: 3, arbitrary: aService },
  { weight: 2, arbitrary: aSlice },
  { weight: 1, arbitrary: aConfigMap },
  { weight: 1, arbitrary: fc.constant(ingressClass('nginx')) },
);

function secrets(): KubernetesObject[] {
  return ['a', 'b'].flatMap((of) => [
    ...pairs.map((pair, index) => tlsSecret(`${of}/t${index}`, pair)),
    secret(`${of}/broken`, { 'tls.crt': 'no certificate', 'tls.key': 'no key' }),
  ]);
}

const aChange: fc.Arbitrary<ObjectChange> = fc.oneof(
  { weight: 5, arbitrary: anObject.map(upsert) },
  { weight: 1, arbitrary: anObject.map(remove) },
);

/** The objects that are there in the end. */
function lastOf(changes: readonly ObjectChange[]): ObjectChange[] {
  const last = new Map<string, ObjectChange>();
  for (const change of changes) {
    const { kind, namespace: of, name } = 'upsert' in change ? change.upsert : change.remove;
    last.set(`${kind} ${of}/${name}`, change);
  }
  return [...last.values()].filter((change) => 'upsert' in change);
}

/** Cut into batches: each number says how many of the remaining changes come together. */
function batches<T>(items: readonly T[], sizes: readonly number[]): T[][] {
  const result: T[][] = [];
  let at = 0;
  for (let index = 0; at < items.length; index++) {
    const size = sizes[index % sizes.length] ?? 1;
    result.push(items.slice(at, at + size));
    at += size;
  }
  return result;
}

const sizes = fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 1, maxLength: 5 });

function shuffled<T>(items: readonly T[]): fc.Arbitrary<T[]> {
  return fc.shuffledSubarray([...items], { minLength: items.length, maxLength: items.length });
}

describe('what is published', () => {
  test('is the same, byte for byte, in whatever order and batches the objects come', () => {
    fc.assert(
      fc.property(
        fc.array(anObject, { minLength: 3, maxLength: 25 }).chain((objects) => {
          const all = lastOf([...objects, ...secrets()].map(upsert));
          return fc.tuple(shuffled(all), shuffled(all), sizes);
        }),
        ([one, other, cuts]) => {
          const [together, apart] = [startPipeline(), startPipeline()];
          apply(together, one);
          for (const batch of batches(other, cuts)) apply(apart, batch);
          expectSame(apart, together);
        },
      ),
      { numRuns: 100 },
    );
  });

  test('is the same whatever was there before', () => {
    fc.assert(
      fc.property(fc.array(aChange, { minLength: 5, maxLength: 40 }), sizes, (history, cuts) => {
        const [lived, fresh] = [startPipeline(), startPipeline()];
        const known = secrets().map(upsert);
        for (const batch of batches([...known, ...history], cuts)) apply(lived, batch);
        apply(fresh, [...known, ...lastOf(history)]);
        expectSame(lived, fresh);
      }),
      { numRuns: 100 },
    );
  });
});

function expectSame(one: Pipeline, other: Pipeline): void {
  expect(published(one)).toEqual(published(other));
  const differences = compareDiagnostics(one.controller.currentDiagnostics(), other.controller.currentDiagnostics());
  expect(differences).toEqual({ added: [], removed: [] });
}

describe('an edit of one Ingress', () => {
  test('changes no cluster, no endpoints, no secret, and no host but its own', () => {
    fc.assert(
      fc.property(
        fc.array(anObject, { minLength: 5, maxLength: 25 }),
        anIngress,
        fc.boolean(),
        (objects, edited, removed) => {
          const pipeline = startPipeline();
          apply(pipeline, lastOf([...objects, ...secrets()].map(upsert)));
          const before = view(pipeline, edited);
          apply(pipeline, [removed ? remove(edited) : upsert(edited)]);
          const after = view(pipeline, edited);
          const touched = new Set([...before.touched, ...after.touched]);
          expect(unlike(before.shared, after.shared)).toEqual([]);
          for (const { cluster, host } of before.uses) {
            if (!reaches(touched, host)) expect(after.shared.has(`${typeUrls.cluster} ${cluster}`)).toBe(true);
          }
          for (const [name, { host, message }] of before.hosts) {
            if (!reaches(touched, host)) expect([name, after.hosts.get(name)?.message]).toEqual([name, message]);
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});

interface View {
  /** Versions of clusters, endpoints and secrets. */
  readonly shared: ReadonlyMap<string, string>;
  /** Which cluster is used on which host. */
  readonly uses: readonly { readonly cluster: string; readonly host: string }[];
  /** Encoded virtual hosts, by route table and name. */
  readonly hosts: ReadonlyMap<string, { readonly host: string; readonly message: string }>;
  /** Hosts of the Ingress that is edited. */
  readonly touched: readonly string[];
}

function view({ store, state, build, emitter }: Pipeline, edited: Ingress): View {
  const shared = new Map<string, string>();
  const key = `${edited.namespace}/${edited.name}`;
  for (const typeUrl of [typeUrls.cluster, typeUrls.endpoints, typeUrls.secret]) {
    for (const name of store.view(typeUrl).names()) {
      shared.set(`${typeUrl} ${name}`, store.view(typeUrl).get(name)?.version ?? '');
    }
  }
  const hosts = new Map<string, { host: string; message: string }>();
  for (const { typeUrl } of emitter.resources.filter((table) => table.typeUrl === typeUrls.routes)) {
    for (const table of store.view(typeUrl).names()) {
      const { virtual_hosts: all = [] } = decode(
        'envoy.config.route.v3.RouteConfiguration',
        store.view(typeUrl).get(table)!.body(),
      );
      for (const host of all)
        hosts.set(`${table} ${host.name}`, { host: host.name ?? '', message: JSON.stringify(host) });
    }
  }
  const { virtualHosts } = build.model;
  const uses = [...virtualHosts.keys()].flatMap((host) =>
    (virtualHosts.get(host)?.routes ?? []).flatMap(({ action }) =>
      action.kind === 'forward' ? [{ cluster: action.cluster.name, host }] : [],
    ),
  );
  const served = state.ingresses.get(key) === undefined ? undefined : build.servedIngresses.get(key)?.served;
  return { shared, uses, hosts, touched: served === undefined ? [] : hostsOf(served) };
}

function hostsOf(served: {
  readonly rules: readonly { readonly host: string }[];
  readonly defaultBackend?: unknown;
}): string[] {
  return [...served.rules.map(({ host }) => host), ...(served.defaultBackend === undefined ? [] : [DEFAULT_HOST])];
}

/**
 * A wildcard host lends its certificate and redirect to the hosts that it covers, and shows the routes of the default server to
 * those that it does not.
 */
function reaches(touched: ReadonlySet<string>, host: string): boolean {
  if (touched.has(host)) return true;
  if (host.startsWith('*.')) return touched.has(DEFAULT_HOST);
  return [...touched].some((wildcard) => wildcard.startsWith('*.') && host.endsWith(wildcard.slice(1)));
}

/** Those in both with another version. */
function unlike(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  return [...before].filter(([name, version]) => (after.get(name) ?? version) !== version).map(([name]) => name);
}
