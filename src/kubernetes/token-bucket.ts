import type { Clock } from './clock.ts';

/** Lets `burst` things happen at once, and from then on `perSecond`. */
export class TokenBucket {
  private readonly clock: Clock;
  private readonly perSecond: number;
  private readonly burst: number;
  private tokens: number;
  private filledAt: number;

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.clock = clock;
    this.perSecond = perSecond;
    this.burst = burst;
    this.tokens = burst;
    this.filledAt = clock.now();
  }

  take(): boolean {
    this.fill();
    if (this.tokens < 1) return false;
    this.tokens--;
    return true;
  }

  /** Milliseconds until `take` succeeds; 0 when it does now. */
  get waitMs(): number {
    this.fill();
    return this.tokens >= 1 ? 0 : Math.ceil(((1 - this.tokens) / this.perSecond) * 1000);
  }

  private fill(): void {
    const now = this.clock.now();
    this.tokens = Math.min(this.burst, this.tokens + ((now - this.filledAt) / 1000) * this.perSecond);
    this.filledAt = now;
  }
}
