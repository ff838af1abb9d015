/**
 * The unit engine: tables of small pure functions that run again only when something they read has changed.
 *
 * Tables are ranked by creation and a unit may read only tables made before its own, so one sweep in creation order
 * settles everything, each unit at most once, without cycles. The engine knows nothing of Kubernetes or Envoy.
 */

/** Name of one entry of a table. */
export type Key = string;

/** A pass under way, to be advanced to its end; the end returns what changed. It stops after each unit. */
export type PassSteps = Generator<void, Pass, void>;

/** What a unit sees of the world. Every read is recorded, also of keys that are absent. */
export type Reader = <V>(from: Table<V>, key: Key) => V | undefined;

export interface Table<out V> {
  readonly name: string;
  /** Number of keys that have a value. */
  readonly size: number;
  get(key: Key): V | undefined;
  keys(): Iterable<Key>;
}

export interface Input<V> extends Table<V> {
  /** Takes effect in the pass that begins next; `undefined` removes the key. */
  set(key: Key, value: V | undefined): void;
}

export interface Counters {
  /** How often a unit, or the view of a group, was computed. */
  runs: number;
  /** How often the outcome equalled the former one, so that the wave stopped. */
  equalStops: number;
}

export interface UnitFailure {
  readonly table: string;
  readonly key: Key;
  readonly error: unknown;
}

export interface Pass {
  /** What changed: per table, key → new value, `undefined` for keys that left. */
  readonly changed: ReadonlyMap<Table<unknown>, ReadonlyMap<Key, unknown>>;
  readonly failures: readonly UnitFailure[];
  /** Units that had failed before and succeeded in this pass. */
  readonly recovered: readonly { readonly table: string; readonly key: Key }[];
  of<V>(table: Table<V>): ReadonlyMap<Key, V | undefined>;
}

/** An aggregate kept in O(changed): each source entry contributes items to groups, each group shows a view. */
export interface Reduction<V, I, A, R> {
  spread(key: Key, value: V): Iterable<readonly [group: Key, item: I]>;
  init(): A;
  add(accumulator: A, key: Key, item: I): void;
  remove(accumulator: A, key: Key, item: I): void;
  empty(accumulator: A): boolean;
  view(accumulator: A, group: Key): R;
  /** Whether the view is as before; without it every touched group counts as changed. */
  equal?(before: R, now: R): boolean;
  /** Groups that exist even when nothing contributes to them. */
  readonly always?: readonly Key[];
}

type Equal<V> = (a: V, b: V) => boolean;

const NO_NODES: readonly Node[] = [];

/** One entry of a table with its edges. */
class Node {
  readonly table: AbstractTable;
  readonly key: Key;
  value: unknown = undefined;
  dirty = false;
  failed = false;
  /** Already listed in the changes of the running pass. */
  touched = false;
  /** Number of the unit run that read this node last; makes recording a read O(1). */
  lastReadBy = 0;
  reads: readonly Node[] = NO_NODES;
  /** Most nodes have one reader, so a set is made only for the second. */
  readers: Node | Set<Node> | undefined = undefined;

  constructor(table: AbstractTable, key: Key) {
    this.table = table;
    this.key = key;
  }

  get present(): boolean {
    return this.value !== undefined;
  }

  markDirty(): void {
    if (this.dirty) return;
    this.dirty = true;
    this.table.dirtyNodes.add(this);
  }

  addReader(reader: Node): void {
    if (this.readers === undefined) this.readers = reader;
    else if (this.readers instanceof Set) this.readers.add(reader);
    else if (this.readers !== reader) this.readers = new Set([this.readers, reader]);
  }

  removeReader(reader: Node): void {
    if (this.readers === reader) this.readers = undefined;
    else if (this.readers instanceof Set) {
      this.readers.delete(reader);
      if (this.readers.size === 0) this.readers = undefined;
    }
    this.forgetIfUnused();
  }

  /** An absent entry lives only as long as somebody has read it, it waits to run, or its failure waits to be recovered. */
  forgetIfUnused(): void {
    if (!this.present && this.readers === undefined && this.reads.length === 0 && !this.dirty && !this.failed) {
      this.table.nodes.delete(this.key);
    }
  }
}

abstract class AbstractTable implements Table<unknown> {
  readonly engine: Engine;
  readonly name: string;
  readonly rank: number;
  readonly nodes = new Map<Key, Node>();
  readonly dirtyNodes = new Set<Node>();
  /** Called with each node whose value changed; how tables follow the keys of earlier ones. */
  readonly listeners: ((node: Node) => void)[] = [];
  counters: Counters = { runs: 0, equalStops: 0 };
  size = 0;

  constructor(engine: Engine, name: string, rank: number) {
    this.engine = engine;
    this.name = name;
    this.rank = rank;
  }

  /** Settles this table; pauses after each unit, so that a long pass can be interrupted. */
  abstract sweep(): Iterable<void>;

  get(key: Key): unknown {
    return this.nodes.get(key)?.value;
  }

  *keys(): Iterable<Key> {
    for (const node of this.nodes.values()) if (node.present) yield node.key;
  }

  node(key: Key): Node {
    let node = this.nodes.get(key);
    if (node === undefined) {
      node = new Node(this, key);
      this.nodes.set(key, node);
    }
    return node;
  }

  change(node: Node, value: unknown): void {
    if (!node.touched) {
      node.touched = true;
      this.engine.touched.push(node);
    }
    this.size += Number(value !== undefined) - Number(node.present);
    node.value = value;
    if (node.readers instanceof Set) for (const reader of node.readers) reader.markDirty();
    else node.readers?.markDirty();
    for (const listener of this.listeners) listener(node);
    node.forgetIfUnused();
  }
}

class InputTable extends AbstractTable {
  /** What was set since the last pass began. */
  private incoming = new Map<Key, unknown>();
  /** What the running pass takes over. */
  private taken = new Map<Key, unknown>();
  readonly equal: Equal<unknown>;

  constructor(engine: Engine, name: string, rank: number, equal: Equal<unknown>) {
    super(engine, name, rank);
    this.equal = equal;
  }

  set(key: Key, value: unknown): void {
    this.incoming.set(key, value);
  }

  /** What is set from now on belongs to the next pass. */
  take(): void {
    [this.taken, this.incoming] = [this.incoming, this.taken];
  }

  *sweep(): Iterable<void> {
    for (const [key, value] of this.taken) {
      const node = this.node(key);
      if (same(node.value, value, this.equal)) {
        this.counters.equalStops++;
        node.forgetIfUnused();
      } else this.change(node, value);
      yield;
    }
    this.taken.clear();
  }
}

class UnitTable extends AbstractTable {
  readonly compute: (key: Key, read: Reader) => unknown;
  readonly equal: Equal<unknown>;
  readonly alive: (key: Key) => boolean;

  constructor(
    engine: Engine,
    name: string,
    rank: number,
    unit: {
      compute: (key: Key, read: Reader) => unknown;
      equal: Equal<unknown>;
      alive: (key: Key) => boolean;
    },
  ) {
    super(engine, name, rank);
    this.compute = unit.compute;
    this.equal = unit.equal;
    this.alive = unit.alive;
  }

  *sweep(): Iterable<void> {
    for (const node of this.dirtyNodes) {
      node.dirty = false;
      this.run(node);
      yield;
    }
    this.dirtyNodes.clear();
  }

  private run(node: Node): void {
    const run = ++this.engine.runs;
    const reads: Node[] = [];
    const read: Reader = <V>(from: Table<V>, key: Key) => {
      const table = from as unknown as AbstractTable;
      if (table.rank >= this.rank) throw new Error(`table ${this.name} reads ${table.name}, which is made later`);
      const source = table.node(key);
      if (source.lastReadBy !== run) {
        source.lastReadBy = run;
        reads.push(source);
      }
      return source.value as V | undefined;
    };
    const value = this.alive(node.key) ? this.computeSafely(node, read) : this.retire(node);
    const former = node.reads;
    node.reads = reads;
    for (const source of reads) source.addReader(node);
    for (const source of former) if (source.lastReadBy !== run) source.removeReader(node);
    if (Object.is(node.value, value)) {
      this.counters.equalStops++;
      node.forgetIfUnused();
    } else this.change(node, value);
  }

  /** The former value where the new one equals it. A value that cannot be compared is a failure of this unit alone. */
  private computeSafely(node: Node, read: Reader): unknown {
    this.counters.runs++;
    try {
      const computed = this.compute(node.key, read);
      const value = same(node.value, computed, this.equal) ? node.value : computed;
      this.recover(node);
      return value;
    } catch (error) {
      node.failed = true;
      this.engine.failures.push({ table: this.name, key: node.key, error });
      return undefined;
    }
  }

  private retire(node: Node): undefined {
    this.recover(node);
    return undefined;
  }

  private recover(node: Node): void {
    if (!node.failed) return;
    node.failed = false;
    this.engine.recovered.push({ table: this.name, key: node.key });
  }
}

class ReducedTable extends AbstractTable {
  readonly reduction: Reduction<unknown, unknown, unknown, unknown>;
  readonly accumulators = new Map<Key, unknown>();
  readonly items = new Map<Key, readonly (readonly [group: Key, item: unknown])[]>();
  readonly changedSources = new Set<Node>();
  private readonly always: ReadonlySet<Key>;
  private readonly touchedGroups = new Set<Key>();

  constructor(engine: Engine, name: string, rank: number, reduction: Reduction<unknown, unknown, unknown, unknown>) {
    super(engine, name, rank);
    this.reduction = reduction;
    this.always = new Set(reduction.always);
    for (const group of this.always) {
      this.accumulators.set(group, reduction.init());
      this.touchedGroups.add(group);
    }
  }

  *sweep(): Iterable<void> {
    for (const source of this.changedSources) {
      this.move(source);
      yield;
    }
    this.changedSources.clear();
    for (const group of this.touchedGroups) {
      this.show(group);
      yield;
    }
    this.touchedGroups.clear();
  }

  /** Takes the former items of a source entry out of their groups and puts the new ones in. */
  private move(source: Node): void {
    const { reduction } = this;
    const former = this.items.get(source.key) ?? [];
    const next = source.present ? [...reduction.spread(source.key, source.value)] : [];
    if (deepEqual(former, next)) {
      this.counters.equalStops++;
      return;
    }
    for (const [group, item] of former) {
      reduction.remove(this.accumulators.get(group), source.key, item);
      this.touchedGroups.add(group);
    }
    for (const [group, item] of next) {
      let accumulator = this.accumulators.get(group);
      if (accumulator === undefined) {
        accumulator = reduction.init();
        this.accumulators.set(group, accumulator);
      }
      reduction.add(accumulator, source.key, item);
      this.touchedGroups.add(group);
    }
    if (next.length > 0) this.items.set(source.key, next);
    else this.items.delete(source.key);
  }

  private show(group: Key): void {
    const { reduction } = this;
    const node = this.node(group);
    const accumulator = this.accumulators.get(group);
    this.counters.runs++;
    if (reduction.empty(accumulator) && !this.always.has(group)) {
      this.accumulators.delete(group);
      if (node.present) this.change(node, undefined);
      else node.forgetIfUnused();
      return;
    }
    const view = reduction.view(accumulator, group);
    if (node.present && reduction.equal?.(node.value, view)) this.counters.equalStops++;
    else this.change(node, view);
  }
}

export class Engine {
  private readonly tables: AbstractTable[] = [];
  private readonly inputs: InputTable[] = [];
  private passing = false;
  /** Bookkeeping of the running pass, written by the tables. */
  touched: Node[] = [];
  failures: UnitFailure[] = [];
  recovered: { table: string; key: Key }[] = [];
  runs = 0;

  /** Objects that come from outside. `equal` decides whether a newly set value is a change (identity by default). */
  input<V>(name: string, equal: Equal<V> = Object.is): Input<V> {
    const table = new InputTable(this, name, this.tables.length, equal as Equal<unknown>);
    this.tables.push(table);
    this.inputs.push(table);
    return table as unknown as Input<V>;
  }

  /**
   * One unit per key that is present in `keys` (a table, one of several tables, or a fixed list). The unit returns an immutable
   * value, or `undefined` for absent. A unit that throws is absent and reported in the pass, and runs again when what it read
   * changes.
   */
  derive<V>(
    name: string,
    keys: Table<unknown> | readonly Table<unknown>[] | readonly Key[],
    compute: (key: Key, read: Reader) => V | undefined,
    equal: Equal<V> = deepEqual,
  ): Table<V> {
    const sources = isKeyList(keys) ? [] : ([keys].flat() as unknown as readonly AbstractTable[]);
    const isSource = (key: Key) => sources.some((source) => source.nodes.get(key)?.present === true);
    const alive = isKeyList(keys) ? () => true : isSource;
    const table = new UnitTable(this, name, this.tables.length, { compute, equal: equal as Equal<unknown>, alive });
    this.tables.push(table);
    for (const key of isKeyList(keys) ? keys : sources.flatMap((source) => [...source.keys()])) {
      table.node(key).markDirty();
    }
    for (const source of sources) {
      source.listeners.push((node) => {
        const unit = table.nodes.get(node.key);
        const toStart = node.present && !unit?.present;
        const toEnd = !node.present && unit !== undefined && !isSource(node.key);
        if (toStart || toEnd) (unit ?? table.node(node.key)).markDirty();
      });
    }
    return table as unknown as Table<V>;
  }

  /** An index: group → the source keys that belong to it, each with an item. Its maps are live: read, never keep them. */
  group<V, I = true>(
    name: string,
    from: Table<V>,
    spread: (key: Key, value: V) => Iterable<readonly [group: Key, item: I]>,
    always: readonly Key[] = [],
  ): Table<ReadonlyMap<Key, I>> {
    return this.reduce<V, I, Map<Key, I>, ReadonlyMap<Key, I>>(name, from, {
      spread,
      init: () => new Map(),
      add: (map, key, item) => void map.set(key, item),
      remove: (map, key) => void map.delete(key),
      empty: (map) => map.size === 0,
      view: (map) => map,
      always,
    });
  }

  /** An aggregate per group that costs O(changed). Items are plain data; a source whose items are equal stops the wave. */
  reduce<V, I, A, R>(name: string, from: Table<V>, reduction: Reduction<V, I, A, R>): Table<R> {
    const table = new ReducedTable(
      this,
      name,
      this.tables.length,
      reduction as unknown as Reduction<unknown, unknown, unknown, unknown>,
    );
    this.tables.push(table);
    const source = from as unknown as AbstractTable;
    source.listeners.push((node) => table.changedSources.add(node));
    for (const key of source.keys()) table.changedSources.add(source.node(key));
    return table as unknown as Table<R>;
  }

  /** Settles every table once, in order. */
  pass(): Pass {
    const steps = this.steps();
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    return step.value;
  }

  /**
   * The same pass a unit at a time, for whoever must do other things meanwhile. It begins with the first step, takes what was
   * set until then, and has to be advanced to its end; until then tables are half new and half old, and no other can begin.
   * @throws Error when another pass is under way.
   */
  *steps(): PassSteps {
    if (this.passing) throw new Error('a pass is under way already');
    this.passing = true;
    for (const input of this.inputs) input.take();
    for (const table of this.tables) yield* table.sweep();
    const changed = new Map<Table<unknown>, Map<Key, unknown>>();
    for (const node of this.touched) {
      node.touched = false;
      let entries = changed.get(node.table);
      if (entries === undefined) {
        entries = new Map();
        changed.set(node.table, entries);
      }
      entries.set(node.key, node.value);
      yield;
    }
    const { failures, recovered } = this;
    this.touched = [];
    this.failures = [];
    this.recovered = [];
    this.passing = false;
    return {
      changed,
      failures,
      recovered,
      of: <V>(table: Table<V>) => (changed.get(table) ?? new Map()) as ReadonlyMap<Key, V | undefined>,
    };
  }

  counters(): Record<string, Counters & { readonly size: number }> {
    return Object.fromEntries(this.tables.map((table) => [table.name, { ...table.counters, size: table.size }]));
  }
}

function isKeyList(keys: Table<unknown> | readonly (Table<unknown> | Key)[]): keys is readonly Key[] {
  return Array.isArray(keys) && keys.every((key) => typeof key === 'string');
}

function same(a: unknown, b: unknown, equal: Equal<unknown>): boolean {
  return a === b || (a !== undefined && b !== undefined && equal(a, b));
}

/**
 * Structural equality of plain values: primitives, arrays, records, byte arrays, and what has an `equals` method of its own.
 * Throws on anything else that carries its content out of sight (maps, sets, dates): two of them would seem equal.
 */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => deepEqual(item, b[index]));
  }
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  const prototype: unknown = Object.getPrototypeOf(a);
  if (prototype !== Object.getPrototypeOf(b)) return false;
  if ('equals' in a && typeof a.equals === 'function') return a.equals(b);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError(`values of units are plain, not ${a.constructor.name}`);
  }
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(b, key) && deepEqual((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
  );
}
