import type { Clock } from '../controller.ts';

/** The real time. Timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after: (delayMs, callback) => {
    if (delayMs <= 0) {
      const immediate = setImmediate(callback);
      return () => clearImmediate(immediate);
    }
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
