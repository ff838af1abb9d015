/** How long the same is not said again, in milliseconds. */
const QUIET_MS = 60_000;
/** More addresses than this are told apart from each other no longer: somebody is trying. */
const MAX_KNOWN = 1000;

interface Refusal {
  readonly address: string;
  readonly reason: string;
}

/** Reports refused connections, each address and reason once a minute: who is refused tries again. */
export function createRefusalReport(
  warn: (message: string) => void,
  now: () => number = () => performance.now(),
): { report(refusal: Refusal): void } {
  const quietUntil = new Map<string, number>();
  return {
    report({ address, reason }) {
      const key = `${address} ${reason}`;
      const time = now();
      if ((quietUntil.get(key) ?? 0) > time) return;
      for (const [known, until] of quietUntil) if (until <= time) quietUntil.delete(known);
      if (quietUntil.size >= MAX_KNOWN) return;
      quietUntil.set(key, time + QUIET_MS);
      warn(`connection from ${address} refused: ${reason}`);
    },
  };
}
