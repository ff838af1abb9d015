export interface Schedule {
  /** Asks for a run once nothing was asked for during `delay` milliseconds. */
  request(delay: number): void;
  /** Asks for a run after `delay` milliseconds, without putting off those that come earlier. */
  requestLater(delay: number): void;
  /** No further runs; settles when the present one has ended. */
  stop(): Promise<void>;
}

/**
 * Runs one after the other, each when its requests have come to rest, and at the latest `maxDelay` milliseconds after the
 * first of them. A request during a run leads to another one.
 */
export function createSchedule(run: () => Promise<void>, maxDelay: number): Schedule {
  let timer: NodeJS.Timeout | undefined;
  let waitingSince: number | undefined;
  let running: Promise<void> | undefined;
  let stopped = false;
  const later = new Set<NodeJS.Timeout>();

  function request(delay: number): void {
    if (stopped) return;
    const now = performance.now();
    waitingSince ??= now;
    clearTimeout(timer);
    timer = setTimeout(start, Math.max(0, Math.min(delay, waitingSince + maxDelay - now)));
  }

  function start(): void {
    if (running !== undefined) {
      void running.then(() => request(0));
      return;
    }
    waitingSince = undefined;
    running = run().finally(() => {
      running = undefined;
    });
  }

  function requestLater(delay: number): void {
    if (stopped) return;
    const alarm = setTimeout(() => {
      later.delete(alarm);
      request(0);
    }, delay);
    later.add(alarm);
  }

  return {
    request,
    requestLater,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      for (const alarm of later) clearTimeout(alarm);
      await running;
    },
  };
}
