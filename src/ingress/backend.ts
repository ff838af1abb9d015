import type { IngressBackend, Service } from '../cluster/objects.ts';
import type { Reader, Table } from '../derive.ts';
import type { Diagnostic, DiagnosticCode } from '../model/diagnostic.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import type { ClusterPolicy, ClusterReference } from '../model/proxy-model.ts';
import { diagnose, quote } from './diagnose.ts';
import { externalPort, type ReadExternalName } from './external-name.ts';
import { clusterReference } from './names.ts';
import { findServicePort } from './service-port.ts';

export interface ResolvedBackend {
  /** Absent when the backend names nothing that could be forwarded to. */
  readonly cluster?: ClusterReference;
  readonly problem?: BackendProblem;
}

export interface BackendProblem {
  readonly code: DiagnosticCode;
  readonly message: string;
  /** Path inside the backend: `service.port`. */
  readonly field: string;
}

export interface BackendSources {
  readonly services: Table<Service>;
  readonly readExternalName: ReadExternalName;
}

const SERVICE_NAME = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i;
const PORT = /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/i;

/**
 * The cluster that a backend means. A missing Service or port keeps the route: it is forwarded to a cluster that is named as
 * written and has no endpoints, so that no wider route answers instead.
 */
export function resolveBackend(
  read: Reader,
  { services, readExternalName }: BackendSources,
  { namespace, cluster: policy }: { readonly namespace: string; readonly cluster: ClusterPolicy },
  backend: IngressBackend,
): ResolvedBackend {
  const { service: target, resource } = backend;
  if (resource !== undefined) {
    return {
      problem: invalid(`${resource.kind} ${quote(resource.name)}: resource backends are not supported`, 'resource'),
    };
  }
  if (target === undefined) return { problem: invalid('the backend names no Service', 'service') };
  if (!SERVICE_NAME.test(target.name))
    return { problem: invalid(`${quote(target.name)} is no name of a Service`, 'service.name') };
  const port = target.port.name ?? String(target.port.number ?? '');
  if (!PORT.test(port)) return { problem: invalid(`${quote(port)} is no port of a Service`, 'service.port') };
  const key = `${namespace}/${target.name}`;
  const service = read(services, key);
  const reference = (port: string) => clusterReference({ namespace, service: target.name, port }, policy);
  const asWritten = reference(port);
  if (service === undefined) {
    const message = `Service ${key} does not exist`;
    return { cluster: asWritten, problem: { code: 'ServiceNotFound', message, field: 'service.name' } };
  }
  const servicePort = findServicePort(service, port);
  const cluster = servicePort === undefined ? asWritten : reference(String(servicePort.port));
  const problem =
    service.type === 'ExternalName'
      ? externalProblem(service, cluster.port, readExternalName)
      : portProblem(key, port, servicePort);
  return problem === undefined ? { cluster } : { cluster, problem };
}

/** `field`: of the path, or `spec.defaultBackend`. */
export function reportBackend(
  ingress: ObjectKey,
  field: string,
  { code, message, field: inside }: BackendProblem,
): Diagnostic {
  const path = field === 'spec.defaultBackend' ? `${field}.${inside}` : `${field}.backend.${inside}`;
  return diagnose(objectRef('Ingress', ingress), 'error', code, message, path);
}

/** A reference to the variant of a Service port without settings of its own. */
export function reference(namespace: string, service: string, port: string): ClusterReference {
  return clusterReference({ namespace, service, port });
}

function externalProblem(
  service: Service,
  port: string,
  readExternalName: ReadExternalName,
): BackendProblem | undefined {
  const key = `${service.namespace}/${service.name}`;
  const external = readExternalName(service.externalName);
  if ('reason' in external) {
    const message = `Service ${key}: the external name ${quote(service.externalName ?? '')} ${external.reason}`;
    return { code: 'ExternalNameInvalid', message, field: 'service.name' };
  }
  return portProblem(key, port, externalPort(service, port));
}

function portProblem(service: string, port: string, found: unknown): BackendProblem | undefined {
  if (found !== undefined) return undefined;
  const message = `Service ${service} has no port ${quote(port)}`;
  return { code: 'ServicePortNotFound', message, field: 'service.port' };
}

function invalid(message: string, field: string): BackendProblem {
  return { code: 'BackendInvalid', message, field };
}
