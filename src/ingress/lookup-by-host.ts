/**
 * What an Ingress says about one host. It may name thousands, and the units of each ask: looking through all of them each time would
 * take time that grows with the square of their number.
 */
import type { HostName } from '../model/proxy-model.ts';
import type { ServedIngress, ServedRule } from './served-ingress.ts';

/** In the order of the Ingress. */
export function rulesOf(ingress: ServedIngress, host: HostName): readonly ServedRule[] {
  return rulesByHost(ingress).get(host) ?? [];
}

/** The index of the first entry in `spec.tls` that names the host. */
export function tlsEntryNaming(ingress: ServedIngress, host: HostName): number | undefined {
  return tlsEntryByHost(ingress).get(host);
}

/** Whether every host of the Ingress is named by an entry of its `spec.tls`. */
export function tlsNamesEveryHost(ingress: ServedIngress): boolean {
  return ingress.rules.every(({ host }) => tlsEntryByHost(ingress).has(host));
}

const rulesByHost = once(({ rules }) => Map.groupBy(rules, ({ host }) => host));

const tlsEntryByHost = once(({ tls }) => {
  const entries = new Map<string, number>();
  for (const [index, { hosts }] of tls.entries()) {
    for (const host of hosts) {
      const name = host.toLowerCase();
      if (!entries.has(name)) entries.set(name, index);
    }
  }
  return entries;
});

/** Computes a value when it is first asked for, and keeps it as long as its Ingress, which never changes. */
function once<V extends object>(compute: (ingress: ServedIngress) => V): (ingress: ServedIngress) => V {
  const values = new WeakMap<ServedIngress, V>();
  return (ingress) => {
    let value = values.get(ingress);
    if (value === undefined) {
      value = compute(ingress);
      values.set(ingress, value);
    }
    return value;
  };
}
