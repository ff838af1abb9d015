/** Topology-aware routing: endpoints near the proxy instead of all, for Services that ask for it. */
import type { EndpointSlice, Service } from '../cluster/objects.ts';

const ANNOTATIONS = ['service.kubernetes.io/topology-mode', 'service.kubernetes.io/topology-aware-hints'];
/** The newer name of a distribution beside the older one. */
const NEAR: ReadonlySet<string | undefined> = new Set(['PreferClose', 'PreferSameZone']);

/** The zone whose endpoints should serve; absent when the Service does not ask for it, or nobody knows where the proxy stands. */
export function nearZone(service: Service, zone: string | undefined): string | undefined {
  const asked = ANNOTATIONS.some((name) => service.annotations[name]?.toLowerCase() === 'auto');
  return asked || NEAR.has(service.trafficDistribution) ? zone : undefined;
}

/**
 * The slices with the endpoints that hints give to a zone. All of a slice count while one of its endpoints has no hint; all of
 * all slices, if no endpoint would be left.
 */
export function endpointsFor(zone: string, slices: readonly EndpointSlice[]): readonly EndpointSlice[] {
  const near = slices.map((slice) =>
    slice.endpoints.every(({ forZones }) => forZones !== undefined)
      ? { ...slice, endpoints: slice.endpoints.filter(({ forZones }) => forZones?.includes(zone)) }
      : slice,
  );
  return near.some(({ endpoints }) => endpoints.length > 0) ? near : slices;
}
