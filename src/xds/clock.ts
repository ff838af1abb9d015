/** Time as the streams see it; tests put their own in its place. */
export interface Clock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** Calls back after `delayMs` unless the returned function was called before. */
  after(delayMs: number, callback: () => void): () => void;
  /** Calls back once what is arriving now has been read: requests and commits of one moment are answered together. */
  soon(callback: () => void): void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
  soon: (callback) => void setImmediate(callback),
};
