/**
 * The long form of "no reload, no drop": random edits of hosts, wildcard hosts, paths, Services, endpoints and certificates, with
 * shards that are divided and joined, under load. Two hosts are not edited: one has a certificate of its own, the other shows the
 * default one. None of their requests may fail, none of their connections may be closed.
 */
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { hostKey } from '../../src/envoy/parity-hash.ts';
import type { Address } from '../../src/model/proxy-model.ts';
import { typeUrls } from '../../src/xds/resource.ts';
import { changesOf, type Gateway, poll, startGateway } from '../support/gateway.ts';
import { endpointSlice, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { makePair, type Pair } from '../support/pki.ts';
import type { Probe } from '../support/probe.ts';
import { type ProbeProcess, startProbeProcess } from '../support/probe-process.ts';

const EDITS = 300;
/** Sent while the edits run: on a slow machine they take longer. */
const MIN_REQUESTS = 10_000;
/** Requests per second for each of the two hosts. */
const RATE = 300;
/** Edited are the hosts below `TENANTS`; the others come and go in bulk, so that shards are divided and joined. */
const TENANTS = 100;
const MIN_HOSTS = 110;
const MAX_HOSTS = 420;
const WILDCARDS = 4;
const SECRETS = 12;

const OWN = 'own.example.com';
const PLAIN = 'plain.example.net';

/** Pairs of certificates for the same names: the second one is what a rotation brings. */
let pairs: readonly (readonly [Pair, Pair])[];
let ownPair: Pair;
let load: ProbeProcess;
let gateway: Gateway;
let probe: Probe;

beforeAll(async () => {
  ownPair = await makePair([OWN]);
  pairs = await Promise.all(
    Array.from({ length: SECRETS }, async (_, index) => {
      const names = namesOf(index);
      return [await makePair(names), await makePair(names)] as const;
    }),
  );
});

beforeEach(async () => {
  load = await startProbeProcess();
  gateway = await startGateway({
    emit: { routeSharding: true },
    concurrency: 2,
    drainTimeS: 2,
    manifests: [
      ...watched(load.backend),
      ...Array.from({ length: SECRETS }, (_, index) => tlsSecret(`tls-${index}`, pairs[index]![0])),
      ...Array.from({ length: MAX_HOSTS }, (_, index) => tenant(index)).flat(),
    ],
  });
  const { httpPort, httpsPort } = gateway;
  probe = await load.start([OWN, PLAIN].map((host) => ({ httpPort, httpsPort, host, rate: RATE })));
});
afterEach(async () => {
  await load?.close();
  await gateway?.close();
});

/** Some certificates cover all hosts, also the one under load, by a wildcard; some a few hosts; some a single one. */
function namesOf(secret: number): string[] {
  if (secret % 3 === 0) return ['*.example.com', `*.w${secret % WILDCARDS}.example.com`];
  if (secret % 3 === 1) return [hostOf(secret), hostOf(secret + 1), `*.w${secret % WILDCARDS}.example.com`];
  return [hostOf(secret)];
}

function hostOf(index: number): string {
  return `h${index}.example.com`;
}

/**
 * Neither host has `spec.tls`, which would redirect it: the certificate of `OWN` is there since another Ingress names it. They have
 * a namespace of their own, since a host inherits the TLS of a wildcard host that covers it in the same namespace.
 */
function watched({ ip, port }: Address): Manifest[] {
  const namespace = 'watched';
  const paths = [{ service: 'web:80' }];
  return [
    ingress({ name: 'web', namespace, rules: [OWN, PLAIN].map((host) => ({ host, paths })) }),
    service('web', [{ port: 80 }], namespace),
    endpointSlice('web', [ip], { port, namespace }),
    tlsSecret('own', ownPair, namespace),
    ingress({
      name: 'anchor',
      namespace,
      rules: [{ host: 'anchor.example.net', paths }],
      tls: [{ hosts: ['anchor.example.net'], secretName: 'own' }],
    }),
  ];
}

interface Variation {
  readonly path?: string;
  readonly secret?: string;
  readonly port?: number;
  readonly address?: string;
}

/** Twenty Services are shared by all tenants. */
function tenant(index: number, { path = '/', secret, port = 80, address = '127.0.0.1' }: Variation = {}): Manifest[] {
  const name = `s${index % 20}`;
  return [
    ingress({
      name: `h${index}`,
      rules: [{ host: hostOf(index), paths: [{ path, service: `${name}:${port}` }] }],
      ...(secret && { tls: [{ hosts: [hostOf(index)], secretName: secret }] }),
    }),
    service(name, [{ port }]),
    endpointSlice(name, [address]),
  ];
}

/** Wildcard hosts stand in every shard; the last one covers the host under load. */
function wildcard(index: number, { path = '/', secret }: Variation): Manifest {
  const host = index === WILDCARDS - 1 ? '*.example.com' : `*.w${index}.example.com`;
  return ingress({
    name: `wildcard-${index}`,
    rules: [{ host, paths: [{ path, service: `s${index}:80` }] }],
    ...(secret && { tls: [{ hosts: [host], secretName: secret }] }),
  });
}

type Random = (below: number) => number;

/** A small generator of numbers, so that a failure can be seen again. */
function createRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

type Edit = (random: Random, edit: number) => Promise<void>;

const remove = (kind: 'Ingress' | 'Service' | 'EndpointSlice' | 'Secret', name: string) => gateway.remove(kind, name);
const anySecret = (random: Random) => `tls-${random(SECRETS)}`;
const anyTenant = (random: Random) => random(TENANTS);

const edits: Readonly<Record<string, Edit>> = {
  path: (random, edit) => gateway.apply(...tenant(anyTenant(random), { path: `/p${edit}` })),
  'port of a Service': (random) => gateway.apply(...tenant(anyTenant(random), { port: 80 + random(3) })),
  endpoints: (random) => gateway.apply(endpointSlice(`s${random(20)}`, [`127.0.0.${2 + random(200)}`])),
  'no endpoints': (random) => remove('EndpointSlice', `s${random(20)}-a`),
  'no Service': (random) => remove('Service', `s${random(20)}`),
  'no host': (random) => remove('Ingress', `h${anyTenant(random)}`),
  'certificate of a host': (random) => gateway.apply(...tenant(anyTenant(random), { secret: anySecret(random) })),
  'new or rotated certificate': (random) => {
    const secret = random(SECRETS);
    return gateway.apply(tlsSecret(`tls-${secret}`, pairs[secret]![random(2)]!));
  },
  'other names in a certificate': (random) =>
    gateway.apply(tlsSecret(anySecret(random), pairs[random(SECRETS)]![random(2)]!)),
  'no certificate': (random) => remove('Secret', anySecret(random)),
  'wildcard host': (random, edit) => gateway.apply(wildcard(random(WILDCARDS), { path: `/w${edit}` })),
  'certificate of a wildcard host': (random) =>
    gateway.apply(wildcard(random(WILDCARDS), { secret: anySecret(random) })),
  'no wildcard host': (random) => remove('Ingress', `wildcard-${random(WILDCARDS)}`),
  'many hosts': async (random) => resize(MIN_HOSTS + random(MAX_HOSTS - MIN_HOSTS)),
};

/** Only the Ingresses come and go: their Services are those of the tenants. */
async function resize(size: number): Promise<void> {
  const bulk = Array.from({ length: MAX_HOSTS - TENANTS }, (_, index) => TENANTS + index);
  gateway.change([
    ...changesOf(bulk.filter((index) => index < size).map((index) => tenant(index)[0]!)),
    ...bulk
      .filter((index) => index >= size)
      .map((index) => ({ remove: { kind: 'Ingress' as const, namespace: 'default', name: `h${index}` } })),
  ]);
  await gateway.settled();
}

/** The table that holds the host under load now. */
function ownTable(): string | undefined {
  const names = [...gateway.pipeline.store.names(typeUrls.routes)].filter((name) => name.startsWith('https/'));
  return names.find((name) => {
    const [first = 0, last = first] = name.slice('https/'.length).split('-').map(Number);
    return first <= hostKey(OWN) && hostKey(OWN) <= last;
  });
}

function listenerUpdates(): number {
  return gateway.events.filter((event) => event.kind === 'response' && event.typeUrl === typeUrls.listener).length;
}

test(`${EDITS} random edits at ${2 * RATE} requests per second`, { timeout: 150_000 }, async () => {
  const random = createRandom(20_261_129);
  const kinds = Object.keys(edits);
  const done = new Map<string, number>();
  const tables = new Set([ownTable()]);
  const sentBefore = probe.sent();
  for (let edit = 0; edit < EDITS; edit++) {
    const kind = kinds[random(kinds.length)]!;
    await edits[kind]!(random, edit);
    // Spread over the load: edits that follow one another at once would take the machine from it.
    await poll(
      () => probe.sent() - sentBefore >= ((edit + 1) / EDITS) * MIN_REQUESTS,
      () => 'the load has stopped',
    );
    done.set(kind, (done.get(kind) ?? 0) + 1);
    tables.add(ownTable());
  }
  const report = await probe.stop();
  expect(report.failures).toEqual([]);
  expect(report.closed).toEqual([]);
  expect(report.requests).toBeGreaterThanOrEqual(MIN_REQUESTS);
  expect(report.messages).toBeGreaterThan(0);
  // Otherwise nothing was shown: every kind of edit happened, listeners changed, and the shard of the host did.
  expect([...done.keys()].toSorted()).toEqual(kinds.toSorted());
  expect(listenerUpdates()).toBeGreaterThan(20);
  expect(tables.size).toBeGreaterThanOrEqual(2);
  const rate = Math.round(report.requests / report.seconds);
  console.log(
    `${EDITS} edits, ${listenerUpdates()} updates of listeners, ${tables.size} tables; ` +
      `${report.requests} requests, ${rate} per second, none lost`,
  );
});
