import type { LocalEndpointsKey } from '../cluster/cluster-state.ts';
import type { Ingress, IngressBackend } from '../cluster/objects.ts';

/** `port` is a number or a name, as written in the Ingress. */
export interface ServicePortRef {
  readonly namespace: string;
  readonly service: string;
  readonly port: string;
}

export function servicePortKey({ namespace, service, port }: ServicePortRef): LocalEndpointsKey {
  return `${namespace}/${service}/${port}`;
}

/** The Service ports that an Ingress refers to, each once. */
export function referencedServicePorts(ingress: Ingress): ServicePortRef[] {
  const backends = [ingress.defaultBackend, ...ingress.rules.flatMap(({ paths }) => paths.map((path) => path.backend))];
  const refs = backends.flatMap((backend) => servicePortOf(ingress.namespace, backend));
  return [...new Map(refs.map((ref) => [servicePortKey(ref), ref])).values()];
}

function servicePortOf(namespace: string, backend: IngressBackend | undefined): ServicePortRef[] {
  const service = backend?.service;
  const port = service?.port.number ?? service?.port.name;
  return service === undefined || port === undefined ? [] : [{ namespace, service: service.name, port: String(port) }];
}
