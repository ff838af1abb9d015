/** Time as this folder sees it; tests put their own in its place. */
export interface Clock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** The time of day, for time stamps that others read. */
  date(): Date;
  /** Calls back after `delayMs` unless the returned function was called before. */
  after(delayMs: number, callback: () => void): () => void;
  /** From 0 up to, not including, 1: for jitter, so that replicas do not act in step. */
  random(): number;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
  random: Math.random,
};
