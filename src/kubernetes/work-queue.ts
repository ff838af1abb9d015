import { Backoff } from './backoff.ts';
import { type Clock, systemClock } from './clock.ts';
import { KubernetesStatusError } from './errors.ts';
import { TokenBucket } from './token-bucket.ts';

export interface WorkQueueOptions {
  /** Does what is to be done for a key, as things stand then. Rejects when it is to be tried again. */
  readonly run: (key: string) => Promise<void>;
  /** How many run at the same time. */
  readonly concurrency: number;
  /** How many begin in a second; as many may begin at once. */
  readonly perSecond: number;
  readonly clock?: Clock;
}

/** Of the pauses while the API server does not answer, in milliseconds. */
const BACKOFF = { baseMs: 500, capMs: 30_000 };

/**
 * Keys for which something is to be done: each once however often it was added, and never twice at the same time. A failure means
 * that the server is in trouble: all wait, longer each time, and then one goes ahead.
 */
export class WorkQueue {
  private readonly options: WorkQueueOptions;
  private readonly clock: Clock;
  private readonly bucket: TokenBucket;
  private readonly backoff: Backoff;
  private readonly queued = new Set<string>();
  private readonly active = new Set<string>();
  private readonly waiters = new Set<() => void>();
  /** Since the last success; then one goes ahead. */
  private failing = false;
  private backingOff = false;
  private cancelPause: (() => void) | undefined;

  constructor(options: WorkQueueOptions) {
    this.options = options;
    this.clock = options.clock ?? systemClock;
    this.bucket = new TokenBucket(this.clock, options.perSecond, options.perSecond);
    this.backoff = new Backoff({ ...BACKOFF, random: () => this.clock.random() });
  }

  get size(): number {
    return this.queued.size + this.active.size;
  }

  add(key: string): void {
    this.queued.add(key);
    this.pump();
  }

  drop(key: string): void {
    this.queued.delete(key);
    this.tellIdle();
  }

  /** Forgets what has not begun. */
  clear(): void {
    this.queued.clear();
    this.tellIdle();
  }

  /** Resolves when nothing is left, or after `atMostMs`. */
  async idle(atMostMs: number): Promise<void> {
    if (this.size === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = this.clock.after(atMostMs, resolve);
      this.waiters.add(() => {
        cancel();
        resolve();
      });
    });
  }

  private pump(): void {
    if (this.cancelPause !== undefined) return;
    const limit = this.failing ? 1 : this.options.concurrency;
    for (const key of this.queued) {
      if (this.active.size >= limit) return;
      if (this.active.has(key)) continue;
      if (!this.bucket.take()) {
        this.pause(this.bucket.waitMs);
        return;
      }
      this.queued.delete(key);
      this.active.add(key);
      void this.perform(key);
    }
  }

  private async perform(key: string): Promise<void> {
    try {
      await this.options.run(key);
      this.failing = false;
      this.backoff.reset();
    } catch (error) {
      this.queued.add(key);
      this.backOff(error);
    }
    this.active.delete(key);
    this.pump();
    this.tellIdle();
  }

  private backOff(error: unknown): void {
    // Others that were under way fail for the same reason.
    if (this.backingOff) return;
    this.failing = true;
    this.backingOff = true;
    this.cancelPause?.();
    const asked = error instanceof KubernetesStatusError ? (error.retryAfterMs ?? 0) : 0;
    this.pause(Math.max(asked, this.backoff.next()));
  }

  private pause(delayMs: number): void {
    this.cancelPause = this.clock.after(delayMs, () => {
      this.cancelPause = undefined;
      this.backingOff = false;
      this.pump();
    });
  }

  private tellIdle(): void {
    if (this.size > 0) return;
    for (const resolve of this.waiters) resolve();
    this.waiters.clear();
  }
}
