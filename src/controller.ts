/**
 * The only loop: collect changes, build, emit, check, publish. Sources put objects into `ClusterState` and call `notify`;
 * everything after that happens in `pass`, in one sitting.
 */
import type { ClusterState } from './cluster/cluster-state.ts';
import type { Engine, Key, Pass, Table } from './derive.ts';
import type { Build } from './ingress/build.ts';
import type { Diagnostic } from './model/diagnostic.ts';
import { compareDiagnostics, type DiagnosticChange, withoutMoves } from './model/diagnostic-change.ts';
import type { Clock } from './xds/clock.ts';
import type { Commit } from './xds/store.ts';

export interface ControllerOptions {
  readonly engine: Engine;
  readonly state: ClusterState;
  readonly build: Build;
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly onSettled?: (settled: Settled) => void;
}

/** Emit and publish, for one kind of proxy. */
export interface Publisher {
  readonly diagnosticTables: readonly DiagnosticTable[];
  /** Hands over what the pass changed, as a whole, between two of its steps. Returns the commit if it changed any resource. */
  publish(pass: Pass): Generator<void, Commit | undefined>;
}

/** The outcome of one pass, for logs, metrics, Events and status. */
export interface Settled {
  readonly pass: Pass;
  /** Absent when the pass changed no resource. */
  readonly commit: Commit | undefined;
  readonly diagnostics: DiagnosticChange;
  readonly durationMs: number;
}

/** Bounds of the window in which changes are collected after a pass; it adapts to what the last pass cost. */
const MIN_WINDOW_MS = 10;
const MAX_WINDOW_MS = 500;
/** A pass may take at most about a fifth of the time. */
const WINDOW_PER_COST = 4;
/** How long the first pass may hold the event loop: it is long where there are many objects, and health is asked meanwhile. */
const SLICE_MS = 20;

export class Controller {
  private readonly options: ControllerOptions;
  private readonly diagnostics = new DiagnosticSet();
  private windowEnd = 0;
  private cancelTimer: (() => void) | undefined;
  private soon = false;
  private phase: 'idle' | 'starting' | 'running' | 'stopped' = 'idle';
  /** Something was applied while the first pass was under way. */
  private missed = false;

  constructor(options: ControllerOptions) {
    this.options = options;
  }

  /**
   * To be called once every source has delivered everything it has: nothing is published before. The first pass gives way to
   * other events every 20 ms; it is published as a whole, and what is applied meanwhile follows in a pass of its own.
   * Resolves when it is published, or when the end came before.
   */
  async start(): Promise<void> {
    const { clock } = this.options;
    this.phase = 'starting';
    let sliceStart = clock.now();
    for (const _ of this.steps()) {
      if (clock.now() - sliceStart < SLICE_MS) continue;
      await new Promise<void>((resolve) => clock.soon(resolve));
      if (this.stopped) return;
      sliceStart = clock.now();
    }
    this.phase = 'running';
    if (this.missed) this.notify(true);
  }

  /** Something was applied to the state. `urgent` (endpoints) is not delayed by the window. */
  notify(urgent: boolean): void {
    const { clock } = this.options;
    if (this.phase === 'starting') this.missed = true;
    if (this.phase !== 'running' || this.soon) return;
    const delayMs = this.windowEnd - clock.now();
    if (urgent || delayMs <= 0) {
      this.soon = true;
      clock.soon(() => {
        if (this.phase === 'running') this.pass();
      });
    } else this.cancelTimer ??= clock.after(delayMs, () => this.pass());
  }

  /** Ends the loop; what is pending is not published any more. */
  stop(): void {
    this.phase = 'stopped';
    this.cancelTimer?.();
    this.cancelTimer = undefined;
  }

  private get stopped(): boolean {
    return this.phase === 'stopped';
  }

  /** Every Diagnostic in force. */
  currentDiagnostics(): readonly Diagnostic[] {
    return this.diagnostics.all();
  }

  private pass(): void {
    this.soon = false;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    for (const _ of this.steps());
  }

  /** From what was applied to the commit and its report; can be interrupted after each unit and around the commit. */
  private *steps(): Generator<void, void> {
    const { engine, state, build, publisher, clock, onSettled } = this.options;
    const begin = clock.now();
    const pass = yield* engine.steps();
    for (const { key, value } of build.memory(pass)) state.memory.set(key, value);
    const commit = yield* publisher.publish(pass);
    yield;
    const diagnostics = this.diagnostics.update(pass, [...build.diagnosticTables, ...publisher.diagnosticTables]);
    const durationMs = clock.now() - begin;
    this.windowEnd = clock.now() + Math.min(MAX_WINDOW_MS, Math.max(MIN_WINDOW_MS, durationMs * WINDOW_PER_COST));
    onSettled?.({ pass, commit, diagnostics, durationMs });
  }
}

type DiagnosticTable = Table<{ readonly diagnostics: readonly Diagnostic[] }>;

/** Diagnostics are values of units: kept per unit, compared as a whole, told as differences. */
class DiagnosticSet {
  private readonly byUnit = new Map<string, readonly Diagnostic[]>();

  all(): readonly Diagnostic[] {
    return [...this.byUnit.values()].flat();
  }

  update(pass: Pass, tables: readonly DiagnosticTable[]): DiagnosticChange {
    const added: Diagnostic[] = [];
    const removed: Diagnostic[] = [];
    const replace = (unit: string, now: readonly Diagnostic[]) => {
      const before = this.byUnit.get(unit) ?? [];
      const change = compareDiagnostics(before, now);
      for (const one of change.added) added.push(one);
      for (const one of change.removed) removed.push(one);
      if (now.length > 0) this.byUnit.set(unit, now);
      else this.byUnit.delete(unit);
    };
    for (const table of tables) {
      for (const [key, value] of pass.of(table)) replace(unitName(table.name, key), value?.diagnostics ?? []);
    }
    for (const { table, key } of pass.recovered) replace(`failure ${unitName(table, key)}`, []);
    for (const { table, key, error } of pass.failures) {
      replace(`failure ${unitName(table, key)}`, [unitFailed(table, key, error)]);
    }
    // A host that an Ingress no longer names, and the one that it names now, may have the same to say of it.
    return withoutMoves({ added, removed });
  }
}

function unitName(table: string, key: Key): string {
  return `${table} ${key}`;
}

function unitFailed(table: string, key: Key, error: unknown): Diagnostic {
  const reason = error instanceof Error ? error.message : String(error);
  return { severity: 'error', code: 'UnitFailed', message: `${table} ${key}: ${reason}` };
}
