import type { Engine, Key, Reader, Table } from '../derive.ts';
import type { ObjectKey } from '../model/object-ref.ts';
import { DEFAULT_HOST, type HostName } from '../model/proxy-model.ts';
import { compareAge, hostsOf, type IngressDecision, type ServedIngress } from './served-ingress.ts';

/** Which Ingresses speak about a host. */
export interface HostIndex {
  /** The default server is always there. */
  readonly byHost: Table<ReadonlyMap<ObjectKey, true>>;
  readonly servedIngresses: Table<IngressDecision>;
}

export function indexByHost(engine: Engine, servedIngresses: Table<IngressDecision>): HostIndex {
  const spread = (_: Key, { served }: IngressDecision): [HostName, true][] =>
    served === undefined ? [] : [...hostsOf(served)].map((host) => [host, true]);
  return { byHost: engine.group('ingresses-by-host', servedIngresses, spread, [DEFAULT_HOST]), servedIngresses };
}

/** The Ingresses of a host, oldest first. */
export function ingressesOf(host: HostName, read: Reader, { byHost, servedIngresses }: HostIndex): ServedIngress[] {
  return [...(read(byHost, host)?.keys() ?? [])]
    .flatMap((key) => read(servedIngresses, key)?.served ?? [])
    .toSorted(compareAge);
}
