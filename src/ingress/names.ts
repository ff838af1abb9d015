import { hash } from 'node:crypto';
import type { ClusterName, ClusterPolicy, ClusterReference, EndpointsName } from '../model/proxy-model.ts';

/** A Service port; `port` is its number, or as written in the Ingress where the Service or its port is missing. */
export interface ServicePortKey {
  readonly namespace: string;
  readonly service: string;
  readonly port: string;
  /** TCP if absent: a Service may have the same port number for both. */
  readonly protocol?: 'UDP';
  /** The address of the Service itself, not those of its endpoints. */
  readonly clusterIp?: true;
}

/**
 * `namespace/service/port`, with `/udp` or `/cluster-ip` where it is: no part can hold a slash, so no two Service ports share a name.
 */
export function endpointsName({ namespace, service, port, protocol, clusterIp }: ServicePortKey): EndpointsName {
  const more = clusterIp ? '/cluster-ip' : protocol === 'UDP' ? '/udp' : '';
  return `${namespace}/${service}/${port}${more}`;
}

function parseEndpointsName(name: EndpointsName): ServicePortKey {
  const [namespace = '', service = '', port = '', more] = name.split('/');
  return {
    namespace,
    service,
    port,
    ...(more === 'udp' && { protocol: 'UDP' }),
    ...(more === 'cluster-ip' && { clusterIp: true }),
  };
}

/** What the endpoints of a canary are chosen from: its own, and those of the Service port in whose place it stands. */
export function canaryEndpointsName(primary: ServicePortKey, canary: ServicePortKey): EndpointsName {
  return `${endpointsName(primary)}@${endpointsName(canary)}`;
}

/** The Service ports behind a name: `primary` only for a canary. */
export function parseEndpoints(name: EndpointsName): {
  readonly own: ServicePortKey;
  readonly primary?: ServicePortKey;
} {
  const [first = '', second] = name.split('@');
  if (second === undefined) return { own: parseEndpointsName(first) };
  return { own: parseEndpointsName(second), primary: parseEndpointsName(first) };
}

/** The reference to the cluster of a Service port: its variant without settings of its own, or the one with a policy. */
export function clusterReference(
  { namespace, service, port, protocol }: ServicePortKey,
  policy: ClusterPolicy = {},
): ClusterReference {
  const servicePort = { namespace, service, port, ...(protocol !== undefined && { protocol }) };
  const name = endpointsName(servicePort);
  if (Object.keys(policy).length === 0) return { name, ...servicePort };
  return { name: variantName(name, policy), ...servicePort, policy };
}

/** The reference to what stands in for a cluster as its canary. */
export function canaryReference(
  { namespace, service, port }: ServicePortKey,
  canary: ServicePortKey,
  policy: ClusterPolicy = {},
): ClusterReference {
  const primary = { namespace, service, port };
  const name = canaryEndpointsName(primary, canary);
  const hasPolicy = Object.keys(policy).length > 0;
  return {
    name: hasPolicy ? variantName(name, policy) : name,
    namespace: canary.namespace,
    service: canary.service,
    port: canary.port,
    primary,
    ...(hasPolicy && { policy }),
  };
}

/** The same with another policy. */
export function withPolicy(reference: ClusterReference, policy: ClusterPolicy): ClusterReference {
  const { primary } = reference;
  return primary === undefined ? clusterReference(reference, policy) : canaryReference(primary, reference, policy);
}

/** Depends on what the policy says alone, so that replicas agree and nothing else renames the cluster. */
function variantName(name: EndpointsName, policy: ClusterPolicy): ClusterName {
  const sorted = Object.entries(policy).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `${name}~${hash('sha256', JSON.stringify(sorted)).slice(0, 8)}`;
}
