/** Whatever happens between the source and a real API server: in the end it has handed over what a fresh source hands over. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ObjectChange } from '../../src/cluster/cluster-state.ts';
import { referencesOf } from '../../src/ingress/references.ts';
import { createKubernetesClient } from '../../src/kubernetes/client.ts';
import { createKubernetesSource } from '../../src/kubernetes/source.ts';
import type { KubernetesSource } from '../../src/kubernetes/source-options.ts';
import { configMap, endpointSlice, ingress, service, tlsSecret } from '../support/manifests.ts';
import { makePair, type Pair } from '../support/pki.ts';
import type { Manifest } from './support/api.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { type Fault, type FaultProxy, startFaultProxy } from './support/fault-proxy.ts';
import { type Account, createAccount } from './support/permissions.ts';
import { namespace } from './support/workloads.ts';

const NAMES = 6;
const STEPS = 120;
const MISSED_STEPS = 30;

let cluster: Cluster;
let proxy: FaultProxy;
let throughProxy: Account;
let straight: Account;
let pair: Pair;
const sources: KubernetesSource[] = [];

beforeAll(async () => {
  cluster = await startCluster({ pods: false });
  proxy = await startFaultProxy(cluster);
  throughProxy = await createAccount(cluster, { server: proxy.url });
  straight = await createAccount(cluster, { name: 'straight' });
  pair = await makePair(['a.test']);
});
afterAll(async () => {
  await proxy?.close();
  await cluster?.stop();
});
beforeEach(() => proxy.setFault(undefined));
afterEach(async () => {
  await Promise.all(sources.splice(0).map((source) => source.stop()));
});

interface Followed {
  /** Everything that is in force, by kind, namespace and name. */
  readonly objects: ReadonlyMap<string, unknown>;
}

async function follow({ kubeconfig }: Account): Promise<Followed> {
  const objects = new Map<string, unknown>();
  const onChanges = (changes: readonly ObjectChange[]) => {
    for (const change of changes) {
      if ('remove' in change) {
        const { kind, namespace: where, name } = change.remove;
        objects.delete(`${kind} ${where}/${name}`);
      } else {
        // The last write of a status makes another version of the same object.
        const { kind, namespace: where, name, ...rest } = change.upsert;
        objects.set(`${kind} ${where}/${name}`, { ...rest, resourceVersion: '' });
      }
    }
  };
  const source = createKubernetesSource({
    client: createKubernetesClient({ kubeconfig, userAgent: 'test' }),
    named: [],
    referencesOf: (ingress) => referencesOf(ingress, 'nginx.ingress.kubernetes.io'),
    onChanges,
    onDiagnostics: () => {},
  });
  sources.push(source);
  await source.start();
  return { objects };
}

/** Random, the same in every run. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function randomManifest(random: (below: number) => number, where: string): Manifest {
  const name = `o${random(NAMES)}`;
  const detail = String(random(1000));
  const kinds: readonly (() => Manifest)[] = [
    () => {
      const tls = random(2) === 0 ? [] : [{ hosts: [`${name}.test`], secretName: `o${random(NAMES)}` }];
      return ingress({
        name,
        namespace: where,
        tls,
        rules: [{ host: `${name}.test`, paths: [{ path: `/${detail}` }] }],
      });
    },
    () => service(name, [{ port: 1 + random(1000) }], where),
    () => endpointSlice(name, [`10.200.9.${1 + random(200)}`], { namespace: where }),
    () => tlsSecret(name, { chain: `${pair.chain}\n# ${detail}\n`, key: pair.key }, where),
    () => configMap(name, { detail }, where),
  ];
  return kinds[random(kinds.length)]!();
}

const FAULTS: readonly Fault[] = [
  { kind: 'reset' },
  { kind: 'truncate', bytes: 300 },
  { kind: 'answer', status: 500 },
  { kind: 'answer', status: 429, headers: { 'retry-after': '1' } },
  { kind: 'query', set: { timeoutSeconds: '1' } },
];

test.each([1, 2, 3])('random changes under random faults (seed %i)', async (seed) => {
  const random = randomFrom(seed);
  // Its own: how many requests there are is not the same in every run.
  const randomFault = randomFrom(seed + 1000);
  const where = await namespace(cluster);
  const followed = await follow(throughProxy);
  const change = async () => {
    const manifest = randomManifest(random, where);
    if (random(3) === 0) await cluster.api.remove(manifest);
    else await cluster.api.apply(manifest);
  };
  for (let step = 0; step < STEPS; step++) {
    await change();
    const what = random(40);
    if (what === 0) proxy.cut();
    if (what === 1) await cluster.compact();
    if (what === 2) proxy.setFault(() => FAULTS[randomFault(FAULTS.length)]);
    if (what === 3) proxy.setFault(undefined);
  }
  // What happens now can only be known by a list: it is compacted, and in no memory.
  proxy.setFault(() => ({ kind: 'reset' }));
  proxy.cut();
  for (let step = 0; step < MISSED_STEPS; step++) await change();
  const lists = proxy.count('list', 'services');
  await cluster.compact();
  await cluster.apiServer.restart({ signal: 'SIGKILL' });
  proxy.setFault(undefined);
  await eventually('a list', () => proxy.count('list', 'services') > lists);
  const last = ingress({ name: 'last', namespace: where, rules: [{ host: 'last.test', paths: [{}] }] });
  await cluster.api.apply(last);
  await eventually('the last change', () => followed.objects.has(`Ingress ${where}/last`));
  const fresh = await follow(straight);
  const byName = ([a]: [string, unknown], [b]: [string, unknown]) => a.localeCompare(b);
  const expected = [...fresh.objects].toSorted(byName);
  expect(expected.length).toBeGreaterThan(NAMES);
  // Kinds are followed apart from each other: the last change of one says nothing of another.
  const same = () => isDeepStrictEqual([...followed.objects].toSorted(byName), expected);
  await eventually('the same objects', same).catch(() => {});
  expect([...followed.objects].toSorted(byName)).toEqual(expected);
});

test('bytes of Secrets that nothing refers to do not arrive', async () => {
  const where = await namespace(cluster);
  await cluster.api.apply(
    tlsSecret('used', pair, where),
    tlsSecret('unused', pair, where),
    configMap('unused', {}, where),
  );
  const web = (secretName: string) =>
    ingress({
      name: 'web',
      namespace: where,
      tls: [{ hosts: ['a.test'], secretName }],
      rules: [{ host: 'a.test', paths: [{}] }],
    });
  await cluster.api.apply(web('used'));
  const { objects } = await follow(straight);
  const secrets = () => [...objects.keys()].filter((key) => key.startsWith(`Secret ${where}/`)).toSorted();
  expect(secrets()).toEqual([`Secret ${where}/used`]);
  await cluster.api.apply(web('unused'));
  await eventually('the other Secret', () => secrets().join() === `Secret ${where}/unused`, {
    describe: () => secrets().join(),
  });
  expect([...objects.keys()].filter((key) => key.startsWith(`ConfigMap ${where}/`))).toEqual([]);
});
