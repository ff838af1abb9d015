import { setTimeout as delay } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Default: 30 s. */
  readonly timeoutMs?: number;
  /** Between two questions; default: 25 ms. */
  readonly everyMs?: number;
  /** Appended to the error when time is up: logs, what was seen last. */
  readonly describe?: () => string;
}

/**
 * Asks until the answer is truthy, and gives it back. An error counts as not yet.
 * @throws Error that says what was waited for and what went wrong last.
 */
export async function eventually<T>(
  what: string,
  ask: () => T | Promise<T>,
  { timeoutMs = 30_000, everyMs = 25, describe }: EventuallyOptions = {},
): Promise<Exclude<T, false | undefined | null>> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      last = await ask();
      if (last) return last as Exclude<T, false | undefined | null>;
    } catch (error) {
      if (error instanceof HopelessError) throw error;
      last = error;
    }
    if (performance.now() > deadline) {
      const seen = last instanceof Error ? last.message : (JSON.stringify(last) ?? 'nothing');
      throw new Error(`${what}: not within ${timeoutMs / 1000} s; last: ${seen}\n${describe?.() ?? ''}`);
    }
    await delay(everyMs);
  }
}

/** Ends the waiting at once: what was waited for cannot come any more. */
export class HopelessError extends Error {
  override readonly name = 'HopelessError';
}
