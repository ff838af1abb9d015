/** Writes the addresses of the proxies into the status of Ingresses, so that users and DNS controllers know where they are served. */
import type { ObjectKey } from '../model/object-ref.ts';
import type { KubernetesClient } from './client.ts';
import { type Clock, systemClock } from './clock.ts';
import { KubernetesStatusError } from './errors.ts';
import { canonicalAddresses, updateIngressStatus } from './ingress-status.ts';
import { WorkQueue } from './work-queue.ts';

export interface StatusWriterOptions {
  readonly client: Pick<KubernetesClient, 'request'>;
  /** How often the leader puts right what others have written into the status. */
  readonly intervalMs: number;
  /** How long the leader leaves it to a replica whose proxies have an Ingress in force to write its address. */
  readonly ackTimeoutMs: number;
  /** Why a status cannot be written; each kind of reason is told once, until things go well again. */
  readonly onProblem: (message: string) => void;
  readonly clock?: Clock;
}

/** Totals. */
export interface StatusCounters {
  reads: number;
  writes: number;
  /** Writes that met a change by somebody else. */
  conflicts: number;
  /** Attempts that are made again later. */
  failures: number;
}

export interface StatusWriter {
  /**
   * @param state `served`: by us, so that its status is ours to write. `programmed`: in force on every proxy of this replica. An
   *   Ingress that was served and is so no longer loses the addresses that are ours.
   */
  update(key: ObjectKey, state: { readonly served: boolean; readonly programmed: boolean }): void;
  /** The addresses in the status of any Ingress, as the watch shows them. */
  observe(key: ObjectKey, loadBalancer: readonly string[]): void;
  /** The Ingress is deleted. */
  remove(key: ObjectKey): void;
  /** What the status is to show. Nothing is written before the first time. */
  setAddresses(addresses: readonly string[]): void;
  setLeading(leading: boolean): void;
  readonly counters: Readonly<StatusCounters>;
  /**
   * What is under way comes to its end, within 5 s; nothing new begins. With `clear` our addresses are then taken out of the
   * status of all Ingresses, within 25 s, or 5 s when the API server is away: right only for the last pod of this controller,
   * whether it leads or not. Never rejects.
   */
  stop(options: { readonly clear: boolean }): Promise<void>;
}

/** What is known of one Ingress. */
interface Entry {
  /** `canonicalAddresses` of its status; `undefined` while nobody has said. */
  seen: string | undefined;
  served: boolean;
  programmed: boolean;
  /** Served for so long that the leader writes without waiting for proxies. */
  overdue: boolean;
  /** Was served, and nobody has looked since whether our addresses are still there. */
  leaving: boolean;
}

const CONCURRENCY = 16;
/** Each write wakes every watch of Ingresses in the cluster. */
const WRITES_PER_SECOND = 300;
/** Address lists that count as ours: Ingresses that leave may still have a former one. */
const FORMER_LISTS = 16;
/** Failures that some Ingresses may have while others are written, so that a success says nothing about them. */
const PERSISTENT = new Set(['403', '422']);
const STOP_MS = 5_000;
const CLEAR_MS = 25_000;

export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  return new IngressStatusWriter(options);
}

class IngressStatusWriter implements StatusWriter {
  readonly counters: StatusCounters = { reads: 0, writes: 0, conflicts: 0, failures: 0 };
  private readonly options: StatusWriterOptions;
  private readonly clock: Clock;
  private readonly queue: WorkQueue;
  private readonly entries = new Map<ObjectKey, Entry>();
  /** When the leader writes for those that are not programmed yet, ascending. */
  private readonly dueAt = new Map<ObjectKey, number>();
  private readonly ours = new Set<string>();
  private readonly ending = new AbortController();
  private addresses: readonly string[] | undefined;
  private wanted = '';
  private leading = false;
  private phase: 'running' | 'clearing' | 'stopped' = 'running';
  /** Kinds of failures that were told. */
  private readonly told = new Set<string>();
  private cancelTick = () => {};
  private cancelDue: (() => void) | undefined;

  constructor(options: StatusWriterOptions) {
    this.options = options;
    this.clock = options.clock ?? systemClock;
    this.queue = new WorkQueue({
      run: (key) => this.write(key),
      concurrency: CONCURRENCY,
      perSecond: WRITES_PER_SECOND,
      clock: this.clock,
    });
  }

  update(key: ObjectKey, { served, programmed }: { readonly served: boolean; readonly programmed: boolean }): void {
    if (this.phase !== 'running' || (!served && !this.entries.has(key))) return;
    const entry = this.entry(key);
    if (!served) {
      entry.leaving ||= entry.served;
      Object.assign(entry, { served, programmed: false, overdue: false });
      this.dueAt.delete(key);
    } else {
      if (programmed) this.dueAt.delete(key);
      else if (!entry.overdue && !this.dueAt.has(key)) this.awaitProxies(key);
      Object.assign(entry, { served, programmed, leaving: false });
    }
    this.reconcile(key, entry);
  }

  observe(key: ObjectKey, loadBalancer: readonly string[]): void {
    this.entry(key).seen = canonicalAddresses(loadBalancer);
  }

  remove(key: ObjectKey): void {
    this.entries.delete(key);
    this.dueAt.delete(key);
    this.queue.drop(key);
  }

  setAddresses(addresses: readonly string[]): void {
    this.addresses = addresses;
    this.wanted = canonicalAddresses(addresses);
    this.told.delete('422');
    if (this.wanted !== '') {
      this.ours.delete(this.wanted);
      this.ours.add(this.wanted);
    }
    for (const former of this.ours) {
      if (this.ours.size > FORMER_LISTS) this.ours.delete(former);
    }
    this.reconcileAll();
  }

  setLeading(leading: boolean): void {
    if (this.leading === leading) return;
    this.leading = leading;
    this.cancelTick();
    if (leading) this.tick();
  }

  async stop({ clear }: { readonly clear: boolean }): Promise<void> {
    if (this.phase !== 'running') return;
    this.phase = 'stopped';
    this.cancelTick();
    this.cancelDue?.();
    this.queue.clear();
    await this.queue.idle(STOP_MS);
    if (clear && this.queue.size === 0) {
      this.phase = 'clearing';
      for (const [key, entry] of this.entries) {
        if (this.mayHaveOurs(entry)) this.queue.add(key);
      }
      await this.queueSettled();
      this.phase = 'stopped';
    }
    this.queue.clear();
    this.ending.abort();
  }

  /** Until nothing is left, nothing comes forward any more, or the time is up. */
  private async queueSettled(): Promise<void> {
    for (let waitedMs = 0; waitedMs < CLEAR_MS; waitedMs += STOP_MS) {
      const before = this.queue.size;
      await this.queue.idle(STOP_MS);
      if (this.queue.size === 0 || this.queue.size >= before) return;
    }
  }

  private entry(key: ObjectKey): Entry {
    let entry = this.entries.get(key);
    if (entry === undefined) {
      entry = { seen: undefined, served: false, programmed: false, overdue: false, leaving: false };
      this.entries.set(key, entry);
    }
    return entry;
  }

  private tick(): void {
    this.reconcileAll();
    this.cancelTick = this.clock.after(this.options.intervalMs, () => this.tick());
  }

  private reconcileAll(): void {
    for (const [key, entry] of this.entries) this.reconcile(key, entry);
  }

  private reconcile(key: ObjectKey, entry: Entry): void {
    if (this.phase === 'running' && this.target(entry) !== undefined) this.queue.add(key);
  }

  /**
   * What is to be written, `undefined` for nothing. What nobody has seen yet may need a write; reading it will tell.
   * Followers give an address to those that have none: what is there already may come from a leader that knows better.
   */
  private target(entry: Entry): readonly string[] | undefined {
    const { seen, served, programmed, overdue, leaving } = entry;
    if (this.addresses === undefined || this.phase === 'stopped') return undefined;
    if (this.phase === 'clearing') return this.mayHaveOurs(entry) ? [] : undefined;
    if (leaving) return this.leading && (seen === undefined || this.ours.has(seen)) ? [] : undefined;
    if (!served || seen === this.wanted) return undefined;
    // To have no address yet is no reason to take somebody else's away.
    if (this.wanted === '' && seen !== undefined && !this.ours.has(seen)) return undefined;
    if (this.leading) return programmed || overdue ? this.addresses : undefined;
    return programmed && (seen === undefined || seen === '') && this.addresses.length > 0 ? this.addresses : undefined;
  }

  private mayHaveOurs({ served, seen }: Entry): boolean {
    return served && (seen === undefined || this.ours.has(seen));
  }

  private async write(key: ObjectKey): Promise<void> {
    let written: string | undefined;
    const decide = (current: string): readonly string[] | undefined => {
      const entry = this.entries.get(key);
      if (entry === undefined) return undefined;
      entry.seen = current;
      const target = this.target(entry);
      if (target === undefined && this.leading) entry.leaving = false;
      written = target && canonicalAddresses(target);
      return target;
    };
    try {
      const exists = await updateIngressStatus(this.options.client, key, {
        decide,
        observe: (request) => {
          this.counters[`${request}s`]++;
        },
        signal: this.ending.signal,
      });
      for (const kind of this.told) {
        if (!PERSISTENT.has(kind)) this.told.delete(kind);
      }
      const entry = this.entries.get(key);
      if (entry === undefined) return;
      if (written !== undefined) entry.seen = written;
      if (!exists || (written !== undefined && !entry.served)) entry.leaving = false;
    } catch (error) {
      if (this.phase === 'stopped') return;
      this.counters.failures++;
      this.report(key, error);
      // The API server takes these addresses for wrong, now and at once again.
      if (!(error instanceof KubernetesStatusError) || error.status !== 422) throw error;
    }
  }

  private awaitProxies(key: ObjectKey): void {
    this.dueAt.set(key, this.clock.now() + this.options.ackTimeoutMs);
    this.cancelDue ??= this.clock.after(this.options.ackTimeoutMs, () => this.fallDue());
  }

  private fallDue(): void {
    this.cancelDue = undefined;
    for (const [key, at] of this.dueAt) {
      const delayMs = at - this.clock.now();
      if (delayMs > 0) {
        this.cancelDue = this.clock.after(delayMs, () => this.fallDue());
        return;
      }
      this.dueAt.delete(key);
      const entry = this.entry(key);
      entry.overdue = true;
      this.reconcile(key, entry);
    }
  }

  private report(key: ObjectKey, error: unknown): void {
    const kind = error instanceof KubernetesStatusError ? `${error.status}` : 'unreachable';
    if (this.told.has(kind)) return;
    this.told.add(kind);
    const reason = error instanceof Error ? error.message : String(error);
    const advice = kind === '403' ? '; grant get on ingresses and update on ingresses/status (networking.k8s.io)' : '';
    this.options.onProblem(`Ingress ${key}: the status cannot be written: ${reason}${advice}`);
  }
}
