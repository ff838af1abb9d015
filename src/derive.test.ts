import { describe, expect, it } from 'vitest';
import { deepEqual, Engine, type Key, type Reader, type Table } from './derive.ts';

/** Counts per table since the engine was made. */
const runs = (engine: Engine, table: string) => engine.counters()[table]?.runs;
const equalStops = (engine: Engine, table: string) => engine.counters()[table]?.equalStops;

describe('input', () => {
  it('takes effect in the next pass, the last value winning', () => {
    const engine = new Engine();
    const numbers = engine.input<number>('number');
    numbers.set('a', 1);
    numbers.set('a', 2);
    expect(numbers.get('a')).toBeUndefined();
    expect([...engine.pass().of(numbers)]).toEqual([['a', 2]]);
    expect(numbers.get('a')).toBe(2);
  });

  it('does not change by an equal value, or by removing what is absent', () => {
    const engine = new Engine();
    const records = engine.input<{ n: number }>('record', (a, b) => a.n === b.n);
    const first = { n: 1 };
    records.set('a', first);
    engine.pass();
    records.set('a', { n: 1 });
    records.set('b', undefined);
    expect(engine.pass().changed.size).toBe(0);
    expect(records.get('a')).toBe(first);
    records.set('a', undefined);
    expect([...engine.pass().of(records)]).toEqual([['a', undefined]]);
  });
});

describe('steps', () => {
  it('pauses after each unit, and takes what was set before the first step', () => {
    const engine = new Engine();
    const numbers = engine.input<number>('number');
    const doubles = engine.derive<number>('double', numbers, (key, read) => 2 * (read(numbers, key) ?? 0));
    for (const key of ['a', 'b', 'c']) numbers.set(key, 1);
    const steps = engine.steps();
    numbers.set('a', 2);
    steps.next();
    numbers.set('b', 5);
    while (doubles.size < 2) expect(steps.next().done).toBe(false);
    expect([...doubles.keys()]).toEqual(['a', 'b']);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    expect([...step.value.of(doubles)]).toEqual([
      ['a', 4],
      ['b', 2],
      ['c', 2],
    ]);
    expect([...engine.pass().of(doubles)]).toEqual([['b', 10]]);
  });

  it('lets no other pass begin before the end', () => {
    const engine = new Engine();
    engine.input<number>('number').set('a', 1);
    const steps = engine.steps();
    steps.next();
    expect(() => engine.pass()).toThrow('a pass is under way');
    while (steps.next().done !== true);
    expect(engine.pass().changed.size).toBe(0);
  });
});

describe('derive', () => {
  /** Doubles of numbers, then a text made of them, both counting their runs. */
  function createChain() {
    const engine = new Engine();
    const numbers = engine.input<number>('number');
    const parities = engine.derive<string>('parity', numbers, (key, read) =>
      (read(numbers, key) ?? 0) % 2 === 0 ? 'even' : 'odd',
    );
    const texts = engine.derive<string>('text', parities, (key, read) => `${key} is ${read(parities, key)}`);
    return { engine, numbers, parities, texts };
  }

  it('has one unit per key that is present in any of several tables, and none is lost when a key moves from one to another', () => {
    const engine = new Engine();
    const left = engine.input<number>('left');
    const right = engine.input<number>('right');
    right.set('b', 1);
    engine.pass();
    const either = engine.derive<number>('either', [left, right], (key, read) => read(left, key) ?? read(right, key));
    left.set('a', 1);
    expect([...engine.pass().of(either)]).toEqual([
      ['b', 1],
      ['a', 1],
    ]);
    left.set('a', undefined);
    right.set('a', 1);
    expect(engine.pass().of(either).size).toBe(0);
    left.set('a', 2);
    expect([...engine.pass().of(either)]).toEqual([['a', 2]]);
    left.set('a', undefined);
    right.set('a', undefined);
    expect([...engine.pass().of(either)]).toEqual([['a', undefined]]);
    expect([...either.keys()]).toEqual(['b']);
  });

  it('has one unit per key that is present', () => {
    const { engine, numbers, texts } = createChain();
    numbers.set('a', 1);
    numbers.set('b', 2);
    engine.pass();
    expect(texts.get('a')).toBe('a is odd');
    numbers.set('a', undefined);
    expect([...engine.pass().of(texts)]).toEqual([['a', undefined]]);
    expect([...texts.keys()]).toEqual(['b']);
  });

  it('stops where a value is equal to the former one', () => {
    const { engine, numbers, texts } = createChain();
    numbers.set('a', 1);
    engine.pass();
    numbers.set('a', 3);
    expect(engine.pass().of(texts).size).toBe(0);
    expect([runs(engine, 'parity'), equalStops(engine, 'parity'), runs(engine, 'text')]).toEqual([2, 1, 1]);
  });

  it('runs nothing when nothing changed', () => {
    const { engine, numbers } = createChain();
    numbers.set('a', 1);
    engine.pass();
    const before = engine.counters();
    expect(engine.pass().changed.size).toBe(0);
    expect(engine.counters()).toEqual(before);
  });

  it('runs once for any number of changes of what it read', () => {
    const engine = new Engine();
    const numbers = engine.input<number>('number');
    const keys = ['a', 'b', 'c'];
    const sum = engine.derive<number>('sum', ['all'], (_, read) =>
      keys.reduce((total, key) => total + (read(numbers, key) ?? 0), 0),
    );
    for (const key of keys) numbers.set(key, 1);
    engine.pass();
    expect([sum.get('all'), runs(engine, 'sum')]).toEqual([3, 1]);
    for (const key of keys) numbers.set(key, 2);
    engine.pass();
    expect([sum.get('all'), runs(engine, 'sum')]).toEqual([6, 2]);
  });

  it('remembers that it read an absent key', () => {
    const engine = new Engine();
    const numbers = engine.input<number>('number');
    const found = engine.derive<boolean>('found', ['a'], (key, read) => read(numbers, key) !== undefined);
    engine.pass();
    expect(found.get('a')).toBe(false);
    numbers.set('a', 1);
    engine.pass();
    expect(found.get('a')).toBe(true);
  });

  it('forgets what it no longer reads', () => {
    const engine = new Engine();
    const switches = engine.input<Key>('switch');
    const numbers = engine.input<number>('number');
    engine.derive<number>('chosen', switches, (key, read) => read(numbers, read(switches, key) ?? ''));
    switches.set('s', 'a');
    engine.pass();
    switches.set('s', 'b');
    engine.pass();
    numbers.set('a', 1);
    engine.pass();
    expect(runs(engine, 'chosen')).toBe(2);
    numbers.set('b', 1);
    engine.pass();
    expect(runs(engine, 'chosen')).toBe(3);
  });

  it('may be made when the world already exists', () => {
    const engine = new Engine();
    const numbers = engine.input<number>('number');
    numbers.set('a', 1);
    engine.pass();
    const late = engine.derive<number>('late', numbers, (key, read) => read(numbers, key));
    const groups = engine.group('by-value', numbers, (_, value) => [[String(value), true] as const]);
    engine.pass();
    expect(late.get('a')).toBe(1);
    expect([...(groups.get('1')?.keys() ?? [])]).toEqual(['a']);
  });

  it('uses its own equality and keeps the former value', () => {
    const engine = new Engine();
    const numbers = engine.input<number>('number');
    const rounded = engine.derive<{ exact: number }>(
      'rounded',
      numbers,
      (key, read) => ({ exact: read(numbers, key) ?? 0 }),
      (a, b) => Math.round(a.exact) === Math.round(b.exact),
    );
    numbers.set('a', 1.1);
    engine.pass();
    numbers.set('a', 1.2);
    expect(engine.pass().of(rounded).size).toBe(0);
    expect(rounded.get('a')).toEqual({ exact: 1.1 });
  });
});

describe('a unit that throws', () => {
  function createFragile() {
    const engine = new Engine();
    const numbers = engine.input<number>('number');
    const roots = engine.derive<number>('root', numbers, (key, read) => {
      const value = read(numbers, key) ?? 0;
      if (value < 0) throw new RangeError(`${value} has no root`);
      return Math.sqrt(value);
    });
    const shown = engine.derive<string>('shown', ['a'], (key, read) => `${read(roots, key) ?? 'absent'}`);
    return { engine, numbers, roots, shown };
  }

  it('is absent and reported, and harms no other', () => {
    const { engine, numbers, roots, shown } = createFragile();
    numbers.set('a', 4);
    numbers.set('b', 9);
    engine.pass();
    numbers.set('a', -1);
    const pass = engine.pass();
    expect(pass.failures).toEqual([{ table: 'root', key: 'a', error: new RangeError('-1 has no root') }]);
    expect([...pass.of(roots)]).toEqual([['a', undefined]]);
    expect([shown.get('a'), roots.get('b')]).toEqual(['absent', 3]);
  });

  it('runs again when what it read changes, and its recovery is reported', () => {
    const { engine, numbers, shown } = createFragile();
    numbers.set('a', -1);
    expect(engine.pass().failures).toHaveLength(1);
    expect(engine.pass().failures).toEqual([]);
    numbers.set('a', 1);
    const pass = engine.pass();
    expect([pass.failures, pass.recovered]).toEqual([[], [{ table: 'root', key: 'a' }]]);
    expect(shown.get('a')).toBe('1');
  });

  it('has recovered when its key goes', () => {
    const { engine, numbers } = createFragile();
    numbers.set('a', -1);
    engine.pass();
    numbers.set('a', undefined);
    expect(engine.pass().recovered).toEqual([{ table: 'root', key: 'a' }]);
  });

  it('has recovered when its key goes, also if it had read nothing', () => {
    const engine = new Engine();
    const numbers = engine.input<number>('number');
    engine.derive('never', numbers, () => {
      throw new Error('always');
    });
    numbers.set('a', 1);
    engine.pass();
    numbers.set('a', undefined);
    expect(engine.pass().recovered).toEqual([{ table: 'never', key: 'a' }]);
  });

  it('fails alone when its value cannot be compared', () => {
    const engine = new Engine();
    const numbers = engine.input<number>('number');
    engine.derive('map', numbers, (key, read) => new Map([[key, read(numbers, key)]]));
    const copies = engine.derive<number>('copy', numbers, (key, read) => read(numbers, key));
    numbers.set('a', 1);
    engine.pass();
    numbers.set('a', 2);
    expect(engine.pass().failures).toEqual([{ table: 'map', key: 'a', error: expect.any(TypeError) }]);
    expect(copies.get('a')).toBe(2);
  });

  it('fails when it reads a table that is made later, or its own', () => {
    const engine = new Engine();
    let later: Table<number> | undefined;
    const early: Table<number> = engine.derive<number>('early', ['own', 'later'], (key, read) =>
      read(key === 'own' ? early : (later ?? early), 'x'),
    );
    later = engine.input<number>('later');
    const messages = engine.pass().failures.map(({ error }) => (error as Error).message);
    expect(messages).toEqual([
      'table early reads early, which is made later',
      'table early reads later, which is made later',
    ]);
  });
});

describe('group', () => {
  interface Pod {
    readonly app: string;
    readonly address: string;
  }

  function createIndex(always: readonly Key[] = []) {
    const engine = new Engine();
    const pods = engine.input<Pod>('pod');
    const byApp = engine.group('by-app', pods, (_, pod) => [[pod.app, true] as const], always);
    const names = engine.derive<string>('names', byApp, (app, read) =>
      [...(read(byApp, app)?.keys() ?? [])].sort().join(),
    );
    return { engine, pods, byApp, names };
  }

  it('gathers keys, and goes with the last of them', () => {
    const { engine, pods, names } = createIndex();
    pods.set('p1', { app: 'web', address: '1' });
    pods.set('p2', { app: 'web', address: '2' });
    engine.pass();
    expect(names.get('web')).toBe('p1,p2');
    pods.set('p1', { app: 'api', address: '1' });
    pods.set('p2', undefined);
    engine.pass();
    expect([[...names.keys()], names.get('api')]).toEqual([['api'], 'p1']);
  });

  it('stops the wave when what a source contributes is unchanged', () => {
    const { engine, pods, byApp } = createIndex();
    pods.set('p1', { app: 'web', address: '1' });
    engine.pass();
    pods.set('p1', { app: 'web', address: '2' });
    expect(engine.pass().of(byApp).size).toBe(0);
    expect([runs(engine, 'by-app'), equalStops(engine, 'by-app'), runs(engine, 'names')]).toEqual([1, 1, 1]);
  });

  it('changes when only an item changes', () => {
    const engine = new Engine();
    const pods = engine.input<Pod>('pod');
    const byApp = engine.group('by-app', pods, (_, pod) => [[pod.app, pod.address] as const]);
    const addresses = engine.derive<string>('addresses', byApp, (app, read) =>
      [...(read(byApp, app)?.values() ?? [])].join(),
    );
    pods.set('p1', { app: 'web', address: '1' });
    engine.pass();
    pods.set('p1', { app: 'web', address: '2' });
    engine.pass();
    expect(addresses.get('web')).toBe('2');
  });

  it('touches only the groups that move', () => {
    const { engine, pods } = createIndex();
    for (let n = 0; n < 100; n++) pods.set(`p${n}`, { app: `app${n}`, address: '' });
    engine.pass();
    const before = engine.counters();
    pods.set('p7', { app: 'app8', address: '' });
    engine.pass();
    expect((runs(engine, 'by-app') ?? 0) - (before['by-app']?.runs ?? 0)).toBe(2);
    expect((runs(engine, 'names') ?? 0) - (before['names']?.runs ?? 0)).toBe(1);
  });

  it('may hold groups that are always there', () => {
    const { engine, pods, byApp, names } = createIndex(['web']);
    engine.pass();
    expect([byApp.get('web')?.size, names.get('web')]).toEqual([0, '']);
    pods.set('p1', { app: 'web', address: '1' });
    engine.pass();
    pods.set('p1', undefined);
    engine.pass();
    expect(names.get('web')).toBe('');
  });
});

describe('reduce', () => {
  function createTotals(equal?: (before: number, now: number) => boolean) {
    const engine = new Engine();
    const amounts = engine.input<number>('amount');
    const totals = engine.reduce<number, number, { count: number; sum: number }, number>('total', amounts, {
      spread: (key, value) => [[key.slice(0, 1), value]],
      init: () => ({ count: 0, sum: 0 }),
      add: (total, _, item) => {
        total.count++;
        total.sum += item;
      },
      remove: (total, _, item) => {
        total.count--;
        total.sum -= item;
      },
      empty: (total) => total.count === 0,
      view: (total) => total.sum,
      ...(equal && { equal }),
    });
    const shown = engine.derive<string>('shown', totals, (group, read) => `${group}=${read(totals, group)}`);
    return { engine, amounts, totals, shown };
  }

  it('keeps an aggregate per group', () => {
    const { engine, amounts, shown } = createTotals();
    for (const [key, value] of Object.entries({ a1: 1, a2: 2, b1: 5 })) amounts.set(key, value);
    engine.pass();
    amounts.set('a1', 10);
    amounts.set('b1', undefined);
    engine.pass();
    expect([...shown.keys()].map((key) => shown.get(key))).toEqual(['a=12']);
  });

  it('stops the wave where the view is equal, else counts as changed', () => {
    const swap = (world: ReturnType<typeof createTotals>) => {
      world.amounts.set('a1', 1);
      world.amounts.set('a2', 2);
      world.engine.pass();
      world.amounts.set('a1', 2);
      world.amounts.set('a2', 1);
      return world.engine.pass().of(world.totals).size;
    };
    expect([swap(createTotals(Object.is)), swap(createTotals())]).toEqual([0, 1]);
  });
});

describe('deepEqual', () => {
  class Key32 {
    readonly #secret: string;
    constructor(secret: string) {
      this.#secret = secret;
    }
    equals(other: Key32): boolean {
      return this.#secret === other.#secret;
    }
  }
  class Other extends Key32 {}

  it.each<[string, unknown, unknown]>([
    ['not-a-number', Number.NaN, Number.NaN],
    ['nested records in any order', { a: [1, { b: 2 }], c: null }, { c: null, a: [1, { b: 2 }] }],
    ['byte arrays of any class', new Uint8Array([1, 2]), Buffer.from([1, 2])],
    ['what calls itself equal', new Key32('x'), new Key32('x')],
    [
      'records without a prototype',
      Object.assign(Object.create(null), { a: 1 }),
      Object.assign(Object.create(null), { a: 1 }),
    ],
    ['records that name themselves oddly', { constructor: 'x', equals: 'y' }, { constructor: 'x', equals: 'y' }],
  ])('holds for %s', (_, a, b) => {
    expect([deepEqual(a, b), deepEqual(b, a)]).toEqual([true, true]);
  });

  it.each<[string, unknown, unknown]>([
    ['zero and minus zero', 0, -0],
    ['an undefined field and an absent one', { a: undefined }, {}],
    ['fields of other names', { a: undefined }, { b: undefined }],
    ['null and a record', null, {}],
    ['a list and its prefix', [1, 2], [1]],
    ['a list and a record', [], {}],
    ['a list and bytes', [1], new Uint8Array([1])],
    ['bytes and a record', new Uint8Array(), {}],
    ['other bytes', new Uint8Array([1, 2]), new Uint8Array([1, 3])],
    ['a number and its text', 1, '1'],
    ['what calls itself unequal', new Key32('x'), new Key32('y')],
    ['objects of two classes', new Key32('x'), new Other('x')],
    ['an object and a record', new Key32('x'), {}],
    ['a record and a map', {}, new Map()],
  ])('tells apart %s', (_, a, b) => {
    expect([deepEqual(a, b), deepEqual(b, a)]).toEqual([false, false]);
  });

  it.each([
    ['maps', () => new Map()],
    ['sets', () => new Set()],
    ['dates', () => new Date(0)],
  ])('refuses %s, whose content it cannot see', (_, make) => {
    expect(() => deepEqual(make(), make())).toThrow(TypeError);
  });
});

it('the reader gives what tables hold, with their types', () => {
  const engine = new Engine();
  const numbers = engine.input<number>('number');
  const unit = (key: Key, read: Reader): number => (read(numbers, key) satisfies number | undefined) ?? 0;
  const copies = engine.derive('copy', numbers, unit);
  numbers.set('a', 1);
  engine.pass();
  expect(copies.get('a') satisfies number | undefined).toBe(1);
});
