export interface BackoffOptions {
  /** Of the first delay, in milliseconds. */
  readonly baseMs: number;
  /** No delay is longer, in milliseconds. */
  readonly capMs: number;
  /** From 0 up to, not including, 1. */
  random(): number;
}

/** Delays that double from one failure to the next, each shortened by up to half so that many clients do not act in step. */
export class Backoff {
  private readonly options: BackoffOptions;
  private failures = 0;

  constructor(options: BackoffOptions) {
    this.options = options;
  }

  /** How long to wait after one more failure, in milliseconds. */
  next(): number {
    const { baseMs, capMs, random } = this.options;
    const delay = Math.min(capMs, baseMs * 2 ** Math.min(this.failures, 30));
    this.failures += 1;
    return delay * (0.5 + random() / 2);
  }

  reset(): void {
    this.failures = 0;
  }
}
