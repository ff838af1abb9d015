/** The Service that answers while that of a path has no endpoint: `default-backend`. */
import type { IngressBackend, Service } from '../cluster/objects.ts';
import type { Engine, Key, Reader, Table } from '../derive.ts';
import type { EndpointsName, Route } from '../model/proxy-model.ts';
import { byScheme } from './by-scheme.ts';
import type { ReadEndpoints } from './endpoints.ts';
import type { ReadExternalName } from './external-name.ts';
import { clusterReference, endpointsName, parseEndpoints } from './names.ts';
import type { IngressDecision, ServedIngress } from './served-ingress.ts';
import { findServicePort } from './service-port.ts';

export interface AvailabilitySources {
  readonly servedIngresses: Table<IngressDecision>;
  readonly services: Table<Service>;
  readonly readExternalName: ReadExternalName;
  readonly readEndpoints: ReadEndpoints;
}

/**
 * Unit per backend with a stand-in, by `namespace/service/port` as it is written: whether it has an endpoint. Which ones it has does
 * not matter, so that hosts move only with the first and the last.
 */
export function deriveAvailability(engine: Engine, sources: AvailabilitySources): Table<boolean> {
  const { servedIngresses, services, readExternalName, readEndpoints } = sources;
  const backends = engine.group('stand-in-backends', servedIngresses, (_, { served }) =>
    served?.host.standIn === undefined ? [] : backendsOf(served),
  );
  return engine.derive<boolean>('backend-availability', backends, (name, read) => {
    const written = parseEndpoints(name).own;
    const service = read(services, `${written.namespace}/${written.service}`);
    if (service?.type === 'ExternalName' && !('reason' in readExternalName(service.externalName))) return true;
    const port = service && findServicePort(service, written.port);
    const known = endpointsName({ ...written, ...(port && { port: String(port.port) }) });
    return readEndpoints(known, read).addresses.length > 0;
  });
}

function backendsOf(served: ServedIngress): Map<Key, true> {
  const paths = served.rules.flatMap((rule) => rule.paths.map(({ backend }) => backend));
  const all = served.defaultBackend === undefined ? paths : [...paths, served.defaultBackend];
  return new Map(all.flatMap((backend) => writtenName(served, backend) ?? []).map((name) => [name, true]));
}

function writtenName({ namespace }: ServedIngress, { service }: IngressBackend): EndpointsName | undefined {
  if (service === undefined) return undefined;
  return endpointsName({ namespace, service: service.name, port: writtenPort(service.port) });
}

function writtenPort({ name, number }: NonNullable<IngressBackend['service']>['port']): string {
  return name ?? String(number ?? '');
}

/** The route, or, while its backend has no endpoint, the same to the stand-in, which is told for whom. */
export function withStandIn(
  route: Route,
  { ingress, backend }: { readonly ingress: ServedIngress; readonly backend: IngressBackend },
  read: Reader,
  availability: Table<boolean>,
): Route {
  const { standIn } = ingress.host;
  const written = writtenName(ingress, backend);
  if (standIn === undefined || route.action.kind !== 'forward' || written === undefined) return route;
  if (read(availability, written) !== false) return route;
  const { namespace, cluster: settings } = ingress;
  const { service, port } = parseEndpoints(written).own;
  const name = ingress.key.slice(namespace.length + 1);
  return {
    ...route,
    action: { kind: 'forward', ...byScheme(clusterReference({ namespace, ...standIn }, settings)) },
    policy: { ...route.policy, standsInFor: { namespace, ingress: name, service, port } },
  };
}
