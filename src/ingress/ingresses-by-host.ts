import type { Engine, Reader, Table } from '../derive.ts';
import type { ObjectKey } from '../model/object-ref.ts';
import { DEFAULT_HOST, type HostName } from '../model/proxy-model.ts';
import { compareAge, hostsOf, type IngressDecision, type ServedIngress } from './served-ingress.ts';

/** Which Ingresses speak about a host. */
export interface HostIndex {
  /** The default server is always there. */
  readonly byHost: Table<ReadonlyMap<ObjectKey, true>>;
  /** Canaries: a host that only they speak about is not served. */
  readonly canariesByHost: Table<ReadonlyMap<ObjectKey, true>>;
  readonly servedIngresses: Table<IngressDecision>;
}

export function indexByHost(engine: Engine, servedIngresses: Table<IngressDecision>): HostIndex {
  const group = (name: string, isCanary: boolean, always: readonly HostName[]) =>
    engine.group<IngressDecision, true>(
      name,
      servedIngresses,
      (_, { served }): [HostName, true][] =>
        served === undefined || (served.canary !== undefined) !== isCanary
          ? []
          : [...hostsOf(served)].map((host) => [host, true]),
      always,
    );
  return {
    byHost: group('ingresses-by-host', false, [DEFAULT_HOST]),
    canariesByHost: group('canaries-by-host', true, []),
    servedIngresses,
  };
}

/** The Ingresses of a host, oldest first; canaries are not among them. */
export function ingressesOf(host: HostName, read: Reader, { byHost, servedIngresses }: HostIndex): ServedIngress[] {
  return sorted(read(byHost, host), read, servedIngresses);
}

/**
 * The Ingresses of a host by whether they are in the namespace of its oldest one. Other tenants may add paths to the host, but not say
 * how all of it speaks TLS. Both sides are sorted by age, as `ingresses` are.
 */
export function byOwnership(ingresses: readonly ServedIngress[]): {
  readonly own: readonly ServedIngress[];
  readonly foreign: readonly ServedIngress[];
} {
  const isOwn = ({ namespace }: ServedIngress) => namespace === ingresses[0]?.namespace;
  return { own: ingresses.filter(isOwn), foreign: ingresses.filter((ingress) => !isOwn(ingress)) };
}

/** The canaries for paths of a host, oldest first. */
export function canariesOf(host: HostName, read: Reader, index: HostIndex): ServedIngress[] {
  return sorted(read(index.canariesByHost, host), read, index.servedIngresses);
}

function sorted(
  keys: ReadonlyMap<ObjectKey, true> | undefined,
  read: Reader,
  servedIngresses: Table<IngressDecision>,
): ServedIngress[] {
  return [...(keys?.keys() ?? [])].flatMap((key) => read(servedIngresses, key)?.served ?? []).toSorted(compareAge);
}
