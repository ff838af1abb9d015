/** How long the same is not said again, in milliseconds. */
const QUIET_MS = 60_000;
/** More than this in that time is not said at all: somebody is trying. */
const MAX_KNOWN = 1000;

/** Gives on each message once a minute, for what others cause and may repeat as often as they like. */
export function createRareWarning(
  warn: (message: string) => void,
  now: () => number = () => performance.now(),
): (message: string) => void {
  const quietUntil = new Map<string, number>();
  return (message) => {
    const time = now();
    if ((quietUntil.get(message) ?? 0) > time) return;
    for (const [known, until] of quietUntil) if (until <= time) quietUntil.delete(known);
    if (quietUntil.size >= MAX_KNOWN) return;
    quietUntil.set(message, time + QUIET_MS);
    warn(message);
  };
}
