/** Make before break, for every history of a proxy that behaves as Envoy does. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SnapshotStore } from '../../src/xds/store.ts';
import { CDS, Client, EDS, LDS, put, RDS, type Received, remove, resource, TestClock } from './support.ts';

/** What Envoy does: everything of clusters and listeners, then endpoints and routes as they are named. */
class ProxyModel {
  client!: Client;
  /** What it runs: versions that it accepted, as they were sent. */
  readonly running = new Map<string, Map<string, string>>();
  private watched = new Set<string>();
  private looked = 0;
  readonly awaitedEndpoints = new Set<string>();
  /** Content (type, name, version) that was rejected and has not changed since. */
  readonly rejected = new Map<string, string>();

  private readonly store: SnapshotStore;
  private readonly clock: TestClock;

  constructor(store: SnapshotStore, clock: TestClock) {
    this.store = store;
    this.clock = clock;
    this.connect();
  }

  connect(): void {
    this.client?.stream.close();
    this.looked = 0;
    this.awaitedEndpoints.clear();
    this.rejected.clear();
    const { store, clock } = this;
    this.client = new Client({ store, clock, limits: { maxResponseBytes: 300 } });
    this.start(CDS, []);
    this.start(LDS, []);
    this.start(EDS, [...this.watched]);
    this.start(RDS, ['r']);
  }

  private start(typeUrl: string, subscribe: string[]): void {
    this.client.request(typeUrl, { subscribe, initialVersions: new Map(this.running.get(typeUrl)) });
    this.look();
  }

  reply(index: number, reject: boolean): void {
    const waiting = this.client.waitingForReply;
    const response = waiting[index % Math.max(1, waiting.length)];
    if (response === undefined || waiting.find(({ typeUrl }) => typeUrl === response.typeUrl) !== response) return;
    if (reject && response.typeUrl === RDS) {
      for (const { name, version } of response.resources) this.rejected.set(name, version);
      this.client.nack(RDS);
    } else {
      this.accept(response);
      this.client.ack(response.typeUrl);
      if (response.typeUrl === CDS) this.watch();
    }
    this.look();
  }

  private accept({ typeUrl, resources, removed }: Received): void {
    const running = this.running.get(typeUrl) ?? new Map<string, string>();
    this.running.set(typeUrl, running);
    for (const { name, version } of resources) running.set(name, version);
    for (const name of removed) running.delete(name);
    this.checkReferences();
  }

  /** The version of a route table, and of a listener that leads to a cluster by itself, is the list of the clusters that it names. */
  private checkReferences(): void {
    for (const version of [this.running.get(RDS)?.get('r') ?? '', this.running.get(LDS)?.get('tcp') ?? '']) {
      for (const cluster of version.split(' ')[0]?.split(',') ?? []) {
        if (cluster !== '') expect([...(this.running.get(CDS)?.keys() ?? [])], version).toContain(cluster);
      }
    }
  }

  private watch(): void {
    const wanted = new Set([...(this.running.get(CDS)?.keys() ?? [])].map((name) => `e${name}`));
    const subscribe = [...wanted].filter((name) => !this.watched.has(name));
    const unsubscribe = [...this.watched].filter((name) => !wanted.has(name));
    this.watched = wanted;
    for (const name of unsubscribe) this.awaitedEndpoints.delete(name);
    if (subscribe.length + unsubscribe.length > 0) this.client.request(EDS, { subscribe, unsubscribe });
  }

  look(): void {
    for (const { typeUrl, resources } of this.client.responses.slice(this.looked)) {
      for (const { name, version } of resources) {
        if (typeUrl === CDS && this.watched.has(`e${name}`)) this.awaitedEndpoints.add(`e${name}`);
        if (typeUrl === EDS) this.awaitedEndpoints.delete(name);
        if (typeUrl === RDS) {
          expect(this.rejected.get(name), 'sent again what was rejected').not.toBe(version);
          this.rejected.delete(name);
        }
      }
    }
    this.looked = this.client.responses.length;
  }

  settle(): void {
    for (let rounds = 0; rounds < 1000; rounds++) {
      if (this.client.waitingForReply.length > 0) this.reply(0, false);
      else {
        const before = this.client.responses.length;
        this.clock.advance(2000);
        this.look();
        if (before === this.client.responses.length) return;
      }
    }
    throw new Error('does not settle');
  }
}

const name = fc.constantFrom('a', 'b', 'c', 'd');
const clusters = fc.uniqueArray(name, { maxLength: 4 });
const move = fc.oneof(
  // A new route table, with clusters that come and go, in one commit.
  { weight: 3, arbitrary: fc.record({ do: fc.constant('routes' as const), clusters, version: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('change' as const), cluster: name, version: fc.nat(2) }) },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('reply' as const), index: fc.nat(3), reject: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reconnect' as const) }) },
  // Less than what a gate waits, in sum.
  { weight: 1, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.nat(10) }) },
);

function routeCommit(store: SnapshotStore, clusters: readonly string[], version: number) {
  const gone = [...store.names(CDS)].filter((name) => !clusters.includes(name));
  const table = { name: 'r', version: `${clusters.join(',')} ${version}`, bytes: () => new Uint8Array(), origin: [] };
  const present = clusters.filter((name) => store.get(CDS, name) === undefined);
  return [
    ...put(CDS, ...present.map((name) => `${name}>e${name}`)),
    ...put(EDS, ...clusters.map((name) => `e${name}`)),
    { typeUrl: RDS, name: 'r', resource: table },
    ...put(LDS, 'l'),
    ...leading(clusters.at(-1)),
    ...remove(CDS, ...gone),
    ...remove(EDS, ...gone.map((name) => `e${name}`)),
  ];
}

/** A listener that leads to a cluster by itself. */
function leading(cluster: string | undefined) {
  if (cluster === undefined) return remove(LDS, 'tcp');
  return [{ typeUrl: LDS, name: 'tcp', resource: resource('tcp', cluster, { cluster }) }];
}

test('always has the clusters that its routes and listeners name, gets endpoints after every cluster, and no rejected content twice', () => {
  fc.assert(
    fc.property(fc.array(move, { maxLength: 50 }), (moves) => {
      const clock = new TestClock();
      const store = new SnapshotStore();
      store.commit(routeCommit(store, ['a'], 0));
      const proxy = new ProxyModel(store, clock);
      for (const one of moves) {
        if (one.do === 'routes') store.commit(routeCommit(store, one.clusters, one.version));
        else if (one.do === 'reply') proxy.reply(one.index, one.reject);
        else if (one.do === 'reconnect') proxy.connect();
        else if (one.do === 'advance') clock.advance(one.ms);
        else if (store.get(CDS, one.cluster) !== undefined) {
          store.commit(put(CDS, `${one.cluster}@${one.version}>e${one.cluster}`));
        }
        clock.run();
        proxy.look();
      }
      proxy.settle();
      const awaited = [...proxy.awaitedEndpoints].filter((one) => store.get(EDS, one) !== undefined);
      expect(awaited).toEqual([]);
      expect([...(proxy.running.get(CDS)?.keys() ?? [])].sort()).toEqual(
        proxy.rejected.size > 0 ? expect.arrayContaining([...store.names(CDS)]) : [...store.names(CDS)].sort(),
      );
      expect(proxy.client.events.filter(({ kind }) => kind === 'gateTimeout')).toEqual([]);
    }),
    { numRuns: 400 },
  );
});

test('a removal does not wait for a type that has nothing to say', () => {
  const clock = new TestClock();
  const store = new SnapshotStore();
  store.commit(routeCommit(store, ['a'], 0));
  const proxy = new ProxyModel(store, clock);
  proxy.reply(0, false);
  store.commit(routeCommit(store, [], 0));
  proxy.connect();
  clock.run();
  // The route table comes back to what the proxy is about to accept.
  for (const clusters of [['a'], []]) store.commit(routeCommit(store, clusters, 0));
  proxy.settle();
  expect([...(proxy.running.get(CDS)?.keys() ?? [])]).toEqual([]);
});
