/** How long lists of an Ingress may be. Proxies hold one on each host of the Ingress, however many paths have it. */
import type { FeatureContext } from './annotation.ts';

/** On all hosts of an Ingress together; Envoy takes about 700 bytes for a network. */
const MAX_ITEMS = 50_000;

/** Why lists of so many `items` are too long for the Ingress, to be followed by what happens; `undefined` where they are not. */
export function tooLong(items: number, { rules }: FeatureContext['ingress']): string | undefined {
  const hosts = Math.max(1, new Set(rules.map(({ host }) => host)).size);
  if (items * hosts <= MAX_ITEMS) return undefined;
  return `${format(items)} items on each of ${format(hosts)} hosts are more than ${format(MAX_ITEMS)}`;
}

function format(count: number): string {
  return count.toLocaleString('en');
}
