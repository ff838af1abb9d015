/** What holds for every history: random commits, subscriptions, replies, stalls and reconnects, against a small model. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TypeUrl } from '../../src/xds/resource.ts';
import { SnapshotStore } from '../../src/xds/store.ts';
import { CDS, Client, EDS, LDS, put, RDS, type Received, remove, TestClock } from './support.ts';

const TYPES = [CDS, EDS, LDS, RDS] as const;
const NAMES = ['a', 'b', 'c', 'd'] as const;
const WILDCARD_BY_DEFAULT: readonly string[] = [CDS, LDS];

/** The subscription rules once more, as short as they can be said. */
class Wanted {
  private started = false;
  wildcard = false;
  readonly names = new Set<string>();
  /** Names that must be answered. */
  readonly owed = new Set<string>();
  private readonly typeUrl: string;

  constructor(typeUrl: string) {
    this.typeUrl = typeUrl;
  }

  apply(subscribe: readonly string[], unsubscribe: readonly string[], initial: ReadonlyMap<string, string>): void {
    if (!this.started && subscribe.length === 0 && WILDCARD_BY_DEFAULT.includes(this.typeUrl)) this.wildcard = true;
    this.started = true;
    for (const name of unsubscribe) {
      if (name === '*') this.wildcard = false;
      else if (this.names.delete(name) && this.wildcard) this.owed.add(name);
    }
    for (const name of this.owed) if (!this.covers(name)) this.owed.delete(name);
    for (const name of subscribe) {
      if (name === '*') this.wildcard = true;
      else this.names.add(name);
      if (name !== '*' && !initial.has(name)) this.owed.add(name);
    }
  }

  covers(name: string): boolean {
    return this.wildcard || this.names.has(name);
  }
}

/** A client that checks every response as it arrives. It accepts everything, sooner or later. */
class CheckedClient {
  client!: Client;
  readonly wanted = new Map<string, Wanted>();
  private readonly sentAt = new Map<string, number[]>();
  private looked = 0;
  /** Since the last clusters came. */
  private endpointsAccepted = false;

  private readonly store: SnapshotStore;
  private readonly clock: TestClock;
  private readonly maxResponseBytes: number;

  constructor(store: SnapshotStore, clock: TestClock, maxResponseBytes: number) {
    this.store = store;
    this.clock = clock;
    this.maxResponseBytes = maxResponseBytes;
    this.connect();
  }

  private connect(): void {
    const { store, clock, maxResponseBytes } = this;
    this.client = new Client({ store, clock, limits: { maxResponseBytes } });
    this.looked = 0;
  }

  request(
    typeUrl: string,
    subscribe: string[],
    unsubscribe: string[],
    initialVersions = new Map<string, string>(),
  ): void {
    const wanted = this.wanted.get(typeUrl) ?? new Wanted(typeUrl);
    this.wanted.set(typeUrl, wanted);
    wanted.apply(subscribe, unsubscribe, initialVersions);
    this.dropUnwanted(typeUrl);
    this.client.request(typeUrl, { subscribe, unsubscribe, initialVersions });
    this.look();
  }

  /** Comes back on a new stream and says what it holds, as Envoy does. */
  reconnect(): void {
    const { held } = this.client;
    const wanted = new Map(this.wanted);
    this.client.stream.close();
    this.wanted.clear();
    this.sentAt.clear();
    this.connect();
    for (const [typeUrl, versions] of held) this.client.held.set(typeUrl, versions);
    for (const [typeUrl, { wildcard, names }] of wanted) {
      this.request(typeUrl, [...(wildcard ? ['*'] : []), ...names], [], new Map(held.get(typeUrl)));
    }
  }

  ack(typeUrl: string): void {
    if (!this.client.waitingForReply.some((response) => response.typeUrl === typeUrl)) return;
    this.sentAt.get(typeUrl)?.shift();
    if (typeUrl === EDS) this.endpointsAccepted = true;
    this.client.ack(typeUrl);
    this.look();
  }

  settle(): void {
    this.client.unblock();
    this.look();
    for (let rounds = 0; rounds < 1000; rounds++) {
      const [response] = this.client.waitingForReply;
      if (response === undefined) {
        const before = this.client.responses.length;
        this.clock.advance(2000);
        this.look();
        if (this.client.responses.length === before) return;
      } else this.ack(response.typeUrl);
    }
    throw new Error('does not settle');
  }

  /** Checks what has arrived since the last look. */
  look(): void {
    for (const response of this.client.responses.slice(this.looked)) this.check(response);
    this.looked = this.client.responses.length;
  }

  private check(response: Received): void {
    const { typeUrl, resources, removed } = response;
    const now = this.client.arrivedAt.get(response) ?? 0;
    const names = resources.map(({ name }) => name);
    const wanted = this.wanted.get(typeUrl);
    expect(new Set([...names, ...removed]).size).toBe(names.length + removed.length);
    for (const { name, version, body } of resources) {
      expect(wanted?.covers(name), `${name} was not asked for`).toBe(true);
      expect(body).toBe(`${name}@${version}`);
    }
    for (const name of removed) expect(wanted?.covers(name), `-${name} was not asked for`).toBe(true);
    for (const name of [...names, ...removed]) wanted?.owed.delete(name);
    const times = this.sentAt.get(typeUrl) ?? [];
    this.sentAt.set(typeUrl, times);
    const last = times.at(-1);
    const mayOvertake = last !== undefined && typeUrl === CDS && (now - last >= 1000 || this.endpointsAccepted);
    expect(last === undefined || mayOvertake, 'two under way').toBe(true);
    if (typeUrl === CDS) this.endpointsAccepted = false;
    times.push(now);
  }

  private dropUnwanted(typeUrl: string): void {
    const wanted = this.wanted.get(typeUrl);
    for (const name of this.client.held.get(typeUrl)?.keys() ?? []) {
      if (!wanted?.covers(name)) this.client.held.get(typeUrl)?.delete(name);
    }
  }
}

type Step =
  | { readonly do: 'commit'; readonly changes: readonly (readonly [type: number, name: string, version: number])[] }
  | { readonly do: 'request'; readonly type: number; readonly subscribe: string[]; readonly unsubscribe: string[] }
  | { readonly do: 'ack'; readonly type: number }
  | { readonly do: 'foreign'; readonly type: number; readonly error: boolean }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'block' }
  | { readonly do: 'unblock' }
  | { readonly do: 'reconnect' };

const type = fc.nat(TYPES.length - 1);
const name = fc.constantFrom(...NAMES);
const wantedNames = fc.uniqueArray(fc.constantFrom(...NAMES, '*'), { maxLength: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('commit' as const),
      changes: fc.array(fc.tuple(type, name, fc.nat(3)), { maxLength: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('request' as const),
      type,
      subscribe: wantedNames,
      unsubscribe: wantedNames,
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('ack' as const), type }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('foreign' as const), type, error: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(1, 500, 1000, 3000) }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Step>({ do: 'block' }, { do: 'unblock' }, { do: 'reconnect' }),
  },
);

/** Version 0 removes. */
function toChanges(changes: readonly (readonly [number, string, number])[]) {
  return changes.flatMap(([index, name, version]) => {
    const typeUrl = TYPES[index] as TypeUrl;
    const spec = typeUrl === CDS ? `${name}@${version}>${name}` : `${name}@${version}`;
    return version === 0 ? remove(typeUrl, name) : put(typeUrl, spec);
  });
}

interface Outcome {
  readonly held: Record<string, Record<string, string>>;
  readonly encodes: readonly string[];
}

function play(steps: readonly Step[], maxResponseBytes: number): Outcome {
  const encodes: string[] = [];
  const clock = new TestClock();
  const store = new SnapshotStore((event) => {
    if (event.kind === 'encoded')
      encodes.push(`${event.typeUrl} ${event.name}@${store.get(event.typeUrl, event.name)?.version}`);
  });
  const client = new CheckedClient(store, clock, maxResponseBytes);
  for (const one of steps) perform(one, store, clock, client);
  store.commit([]);
  client.settle();
  return { held: converged(store, client), encodes };
}

function perform(one: Step, store: SnapshotStore, clock: TestClock, client: CheckedClient): void {
  if (one.do === 'commit') store.commit(toChanges(one.changes));
  else if (one.do === 'request') client.request(TYPES[one.type] ?? CDS, one.subscribe, one.unsubscribe);
  else if (one.do === 'ack') client.ack(TYPES[one.type] ?? CDS);
  else if (one.do === 'advance') clock.advance(one.ms);
  else if (one.do === 'block') client.client.blocked = true;
  else if (one.do === 'unblock') client.client.unblock();
  else if (one.do === 'reconnect') client.reconnect();
  else if (one.do === 'foreign' && client.wanted.has(TYPES[one.type] ?? CDS)) {
    const error = one.error ? { error: { code: 13, message: 'stale' } } : {};
    client.client.request(TYPES[one.type] ?? CDS, { nonce: 'foreign', ...error });
  }
  clock.run();
  client.look();
}

/** Checks that the client holds exactly what the store has and it wants, and was told everything it asked. */
function converged(store: SnapshotStore, client: CheckedClient): Outcome['held'] {
  const result: Outcome['held'] = {};
  for (const [typeUrl, wanted] of client.wanted) {
    const expected = [...store.names(typeUrl)]
      .filter((name) => wanted.covers(name))
      .map((name) => [name, store.get(typeUrl, name)?.version]);
    result[typeUrl] = Object.fromEntries(expected);
    expect(Object.fromEntries(client.client.held.get(typeUrl) ?? []), typeUrl).toEqual(result[typeUrl]);
    expect([...wanted.owed], `${typeUrl}: not answered`).toEqual([]);
  }
  return result;
}

describe('for every history', () => {
  test('a client ends up with what it wants, unasked for nothing, one response at a time, whatever the chunk size', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.constantFrom(1, 300, 1_000_000), (steps, maxResponseBytes) => {
        play(steps, maxResponseBytes);
      }),
      { numRuns: 400 },
    );
  });

  test('every version is encoded at most once each time it is committed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { encodes } = play(steps, 1_000_000);
        const commits = steps.filter((one) => one.do === 'commit').length;
        const most = Math.max(
          0,
          ...[...new Set(encodes)].map((one) => encodes.filter((other) => other === one).length),
        );
        expect(most).toBeLessThanOrEqual(commits);
      }),
      { numRuns: 200 },
    );
  });

  test('the label of a type depends on its content alone', () => {
    const entries = fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), fc.integer({ min: 1 })), {
      selector: ([name]) => name,
    });
    const change = ([name, version]: readonly [string, number]) => ({
      typeUrl: CDS,
      name,
      resource: { name, version: String(version), bytes: () => new Uint8Array(), origin: [] },
    });
    fc.assert(
      fc.property(entries, entries, (content, former) => {
        const direct = new SnapshotStore();
        direct.commit(content.map(change));
        const detour = new SnapshotStore();
        detour.commit(former.map(change));
        detour.commit(content.toReversed().map(change));
        const gone = former.filter(([name]) => !content.some(([other]) => other === name));
        detour.commit(gone.map(([name]) => ({ typeUrl: CDS, name, resource: undefined })));
        expect(detour.systemVersion(CDS)).toBe(direct.systemVersion(CDS));
      }),
    );
  });

  test('a client that was blocked gets the newest state, not every state', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.tuple(fc.constant(1), name, fc.nat(3))), { maxLength: 20 }), (commits) => {
        const clock = new TestClock();
        const store = new SnapshotStore();
        store.commit(put(EDS, 'a'));
        const client = new Client({ store, clock, acknowledges: true });
        client.blocked = true;
        client.subscribe(EDS, '*').next();
        for (const changes of commits) {
          store.commit(toChanges(changes));
          clock.run();
        }
        expect(client.next()).toEqual([]);
        client.unblock();
        clock.advance(10_000);
        expect(client.next().length).toBeLessThanOrEqual(2);
        const versions = [...store.names(EDS)].map((name) => [name, store.get(EDS, name)?.version]);
        expect(Object.fromEntries(client.held.get(EDS) ?? [])).toEqual(Object.fromEntries(versions));
      }),
    );
  });
});
