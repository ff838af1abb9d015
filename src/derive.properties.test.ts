/**
 * The promise of the engine, tried with random events: whatever came in whatever order and batches, the tables are what an
 * engine makes that sees only the final objects. The world is a small imitation of the product: items name hosts and
 * a service; hosts are built from items and services; references, totals and a summary from hosts.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Engine, type Input, type Key, type Pass, type Reader, type Table } from './derive.ts';

interface Item {
  readonly hosts: readonly string[];
  readonly service: string;
  /** Changes the item without changing what is built from it, when the remainder by 3 stays. */
  readonly revision: number;
}

type Unit<V> = (key: Key, read: Reader) => V | undefined;

interface World {
  readonly engine: Engine;
  readonly items: Input<Item>;
  readonly services: Input<number>;
  readonly tables: readonly Table<unknown>[];
  /** What units did since the last call: run → what the former run of the same unit had read. */
  takeRuns(): readonly UnitRun[];
}

interface UnitRun {
  readonly table: string;
  readonly key: Key;
  /** Table and key of what the former run read; left out where the unit had no value before. */
  readonly formerReads: ReadonlySet<string> | undefined;
}

function createWorld(): World {
  const engine = new Engine();
  const tables: Table<unknown>[] = [];
  let runs: UnitRun[] = [];
  const lastReads = new Map<string, ReadonlySet<string>>();

  function watched<V>(table: string, unit: Unit<V>): Unit<V> {
    return (key, read) => {
      const reads = new Set<string>();
      const id = `${table} ${key}`;
      const wasPresent = tables.find(({ name }) => name === table)?.get(key) !== undefined;
      runs.push({ table, key, formerReads: wasPresent ? lastReads.get(id) : undefined });
      lastReads.set(id, reads);
      return unit(key, (from, of) => {
        reads.add(`${from.name} ${of}`);
        return read(from, of);
      });
    };
  }

  const items = engine.input<Item>('item');
  const services = engine.input<number>('service');
  const byHost = engine.group('items-by-host', items, (_, item) => item.hosts.map((host) => [host, true] as const));
  const byService = engine.group('items-by-service', items, (_, item) => [[item.service, item.hosts] as const], ['s0']);

  const hosts = engine.derive<{ readonly routes: readonly string[] }>(
    'host',
    byHost,
    watched('host', (host, read) => {
      const routes = [...(read(byHost, host)?.keys() ?? [])].sort().map((key) => {
        const item = read(items, key);
        if (item === undefined) throw new Error(`the group names an absent item ${key}`);
        return `${key}:${item.revision % 3}>${read(services, item.service) ?? 'absent'}`;
      });
      if (routes.includes('i1:2>absent')) throw new Error('a fault of the input');
      return { routes };
    }),
  );
  const clusters = engine.derive<number>(
    'cluster',
    byService,
    watched('cluster', (service, read) => {
      const weight = read(services, service);
      if (weight === undefined && service === 's1') return undefined;
      return (weight ?? -1) + (read(hosts, 'h0')?.routes.length ?? 100);
    }),
  );
  const checked = engine.derive<true>(
    'checked',
    byService,
    watched('checked', (service) => {
      if (service === 's2') throw new Error('fails before it has read anything');
      return true;
    }),
  );
  const labels = engine.derive<string>(
    'label',
    hosts,
    watched('label', (host, read) => `${host}/${(read(hosts, host)?.routes.length ?? 0) > 1 ? 'many' : 'one'}`),
  );
  const references = engine.group('hosts-by-target', hosts, (_, host) =>
    [...new Set(host.routes.map((route) => route.split('>')[1] ?? ''))].map((target) => [target, host.routes.length]),
  );
  const used = engine.derive<string>(
    'used',
    references,
    watched('used', (target, read) => [...(read(references, target) ?? [])].sort().join()),
  );
  const totals = engine.reduce<{ readonly routes: readonly string[] }, number, { count: number; sum: number }, number>(
    'total',
    hosts,
    {
      spread: (host, { routes }) => [
        ['all', routes.length],
        [host === 'h0' ? 'first' : 'others', routes.join().length],
      ],
      init: () => ({ count: 0, sum: 0 }),
      add: (total, _, amount) => {
        total.count++;
        total.sum += amount;
      },
      remove: (total, _, amount) => {
        total.count--;
        total.sum -= amount;
      },
      empty: (total) => total.count === 0,
      view: (total) => total.sum,
      equal: Object.is,
    },
  );
  const summary = engine.derive<string>(
    'summary',
    ['one', 'two'],
    watched('summary', (key, read) => {
      const all = read(totals, 'all');
      if (key === 'two' && all === 2) throw new Error('a fault of an aggregate');
      return key === 'one' ? `${all ?? 'none'}/${read(clusters, 's1') ?? 'none'}/${read(labels, 'h1')}` : undefined;
    }),
  );

  tables.push(items, services, byHost, byService, hosts, clusters, checked, labels, references, used, totals, summary);

  return {
    engine,
    items,
    services,
    tables,
    takeRuns: () => {
      const taken = runs;
      runs = [];
      return taken;
    },
  };
}

type Event =
  | { readonly kind: 'item'; readonly key: string; readonly value: Item | undefined }
  | { readonly kind: 'service'; readonly key: string; readonly value: number | undefined }
  | { readonly kind: 'pass' };

const serviceNames = ['s0', 's1', 's2'];
const events: fc.Arbitrary<Event> = fc.oneof(
  fc.record({
    kind: fc.constant('item' as const),
    key: fc.constantFrom('i0', 'i1', 'i2', 'i3'),
    value: fc.option(
      fc.record({
        hosts: fc.uniqueArray(fc.constantFrom('h0', 'h1', 'h2')),
        service: fc.constantFrom(...serviceNames),
        revision: fc.nat(5),
      }),
      { nil: undefined, freq: 3 },
    ),
  }),
  fc.record({
    kind: fc.constant('service' as const),
    key: fc.constantFrom(...serviceNames),
    value: fc.option(fc.nat(2), { nil: undefined, freq: 3 }),
  }),
  fc.constant({ kind: 'pass' as const }),
);

function feed(world: World, event: Event): void {
  if (event.kind === 'item') world.items.set(event.key, event.value);
  if (event.kind === 'service') world.services.set(event.key, event.value);
}

/** The last event of each object, latest first: another order than the one in which they came. */
function finalEvents(sequence: readonly Event[]): Event[] {
  const last = new Map(sequence.map((event) => [event.kind === 'pass' ? 'pass' : `${event.kind} ${event.key}`, event]));
  return [...last.values()].reverse();
}

const plain = (value: unknown): unknown =>
  value instanceof Map ? [...value].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)) : value;

function contents(tables: readonly Table<unknown>[]): unknown {
  return Object.fromEntries(
    tables.map((table) => [table.name, [...table.keys()].sort().map((key) => [key, plain(table.get(key))])]),
  );
}

/** How much the engine keeps, absent entries and edges included. */
function footprint(engine: Engine): unknown {
  interface Kept {
    readonly name: string;
    readonly nodes: ReadonlyMap<Key, { readonly reads: readonly unknown[]; readonly readers: unknown }>;
    readonly dirtyNodes: ReadonlySet<unknown>;
    readonly accumulators?: ReadonlyMap<Key, unknown>;
    readonly items?: ReadonlyMap<Key, unknown>;
  }
  const readers = (of: unknown): number => (of instanceof Set ? of.size : Number(of !== undefined));
  return (engine as unknown as { readonly tables: readonly Kept[] }).tables.map((table) => ({
    table: table.name,
    nodes: [...table.nodes].map(([key, node]) => [key, node.reads.length, readers(node.readers)].join()).sort(),
    dirty: table.dirtyNodes.size,
    accumulators: [...(table.accumulators?.keys() ?? [])].sort(),
    items: [...(table.items?.keys() ?? [])].sort(),
  }));
}

/** Follows the passes of an engine and knows nothing else. */
function createFollower(tables: readonly Table<unknown>[]) {
  const mirrors = new Map(tables.map((table) => [table, new Map<Key, unknown>()]));
  const failing = new Set<string>();
  return {
    failing,
    follow(pass: Pass): void {
      for (const [table, mirror] of mirrors) {
        for (const [key, value] of pass.of(table)) value === undefined ? mirror.delete(key) : mirror.set(key, value);
      }
      for (const { table, key } of pass.recovered) failing.delete(`${table} ${key}`);
      for (const { table, key } of pass.failures) failing.add(`${table} ${key}`);
    },
    contents: () =>
      Object.fromEntries(
        [...mirrors].map(([table, mirror]) => [
          table.name,
          [...mirror].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => [key, plain(value)]),
        ]),
      ),
  };
}

/** Everything that a pass tells, by the names of tables. */
function told({ changed, failures, recovered }: Pass): unknown {
  return {
    changed: [...changed].map(([table, entries]) => [
      table.name,
      [...entries].map(([key, value]) => [key, plain(value)]),
    ]),
    failures: failures.map(({ table, key, error }) => [table, key, String(error)]),
    recovered,
  };
}

/** What lies between the passes, the last of which is added. */
function batches(sequence: readonly Event[]): Event[][] {
  const all: Event[][] = [[]];
  for (const event of sequence) event.kind === 'pass' ? all.push([]) : all.at(-1)?.push(event);
  return all;
}

/** A pass in steps, with the events of the next one arriving between them. */
function passInSteps(world: World, meanwhile: readonly Event[], stepsPerEvent: number): Pass {
  const pending = [...meanwhile];
  const steps = world.engine.steps();
  for (let count = 1; ; count++) {
    const step = steps.next();
    if (step.done === true) {
      for (const event of pending) feed(world, event);
      return step.value;
    }
    if (count % stepsPerEvent === 0) for (const event of pending.splice(0, 1)) feed(world, event);
  }
}

function expectNoNeedlessRun(runs: readonly UnitRun[], pass: Pass): void {
  const names = runs.map(({ table, key }) => `${table} ${key}`);
  expect(names.length).toBe(new Set(names).size);
  const changed = new Set(
    [...pass.changed].flatMap(([table, entries]) => [...entries.keys()].map((key) => `${table.name} ${key}`)),
  );
  for (const { formerReads } of runs) {
    if (formerReads !== undefined) expect([...formerReads].some((read) => changed.has(read))).toBe(true);
  }
}

describe('after any sequence of events, in any batching', () => {
  const sequences = fc.array(events, { maxLength: 60 });

  it('the tables, the failures and what is kept are those of an engine that saw only the end', () => {
    fc.assert(
      fc.property(sequences, (sequence) => {
        const incremental = createWorld();
        const follower = createFollower(incremental.tables);
        for (const event of [...sequence, { kind: 'pass' as const }]) {
          feed(incremental, event);
          if (event.kind === 'pass') follower.follow(incremental.engine.pass());
        }
        const fresh = createWorld();
        const freshFollower = createFollower(fresh.tables);
        for (const event of finalEvents(sequence)) feed(fresh, event);
        freshFollower.follow(fresh.engine.pass());

        expect(contents(incremental.tables)).toEqual(contents(fresh.tables));
        expect([...follower.failing].sort()).toEqual([...freshFollower.failing].sort());
        expect(footprint(incremental.engine)).toEqual(footprint(fresh.engine));
      }),
      { numRuns: 1500 },
    );
  });

  it('the changes alone reproduce the tables, and sizes are right', () => {
    fc.assert(
      fc.property(sequences, (sequence) => {
        const world = createWorld();
        const follower = createFollower(world.tables);
        for (const event of [...sequence, { kind: 'pass' as const }]) {
          feed(world, event);
          if (event.kind !== 'pass') continue;
          follower.follow(world.engine.pass());
          expect(follower.contents()).toEqual(contents(world.tables));
        }
        for (const table of world.tables) {
          expect(table.size).toBe([...table.keys()].length);
          expect(world.engine.counters()[table.name]?.size).toBe(table.size);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('a unit runs at most once per pass, and only when something that it read has changed', () => {
    fc.assert(
      fc.property(sequences, (sequence) => {
        const world = createWorld();
        for (const event of [...sequence, { kind: 'pass' as const }]) {
          feed(world, event);
          if (event.kind === 'pass') {
            const pass = world.engine.pass();
            expectNoNeedlessRun(world.takeRuns(), pass);
          }
        }
        world.engine.pass();
        expect(world.takeRuns()).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it('a pass in steps is the same pass, whatever is set meanwhile', () => {
    fc.assert(
      fc.property(sequences, fc.integer({ min: 1, max: 6 }), (sequence, stepsPerEvent) => {
        const atOnce = createWorld();
        const inSteps = createWorld();
        const all = batches(sequence);
        for (const event of all[0] ?? []) feed(inSteps, event);
        for (const [index, batch] of all.entries()) {
          for (const event of batch) feed(atOnce, event);
          const expected = atOnce.engine.pass();
          const pass = passInSteps(inSteps, all[index + 1] ?? [], stepsPerEvent);
          expect(told(pass)).toEqual(told(expected));
          expect(contents(inSteps.tables)).toEqual(contents(atOnce.tables));
        }
        expect(footprint(inSteps.engine)).toEqual(footprint(atOnce.engine));
        expect(inSteps.engine.counters()).toEqual(atOnce.engine.counters());
      }),
      { numRuns: 500 },
    );
  });

  it('nothing is kept of what has gone', () => {
    fc.assert(
      fc.property(sequences, (sequence) => {
        const world = createWorld();
        world.engine.pass();
        const before = footprint(world.engine);
        for (const event of sequence) {
          feed(world, event);
          if (event.kind === 'pass') world.engine.pass();
        }
        for (const table of [world.items, world.services])
          for (const key of [...table.keys()]) table.set(key, undefined);
        for (const event of sequence) if (event.kind !== 'pass') feed(world, { ...event, value: undefined });
        world.engine.pass();
        expect(footprint(world.engine)).toEqual(before);
      }),
      { numRuns: 500 },
    );
  });
});
