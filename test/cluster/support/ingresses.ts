/** How Ingresses look in the cluster, and what tests of them have in common. */
import { ingressClass } from '../../support/manifests.ts';
import type { Manifest } from './api.ts';
import type { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { type Product, PUBLISHED_ADDRESS, served } from './product.ts';
import type { Site } from './site.ts';

/** Of the status. */
export async function addressesOf({ api }: Cluster, ingress: Manifest): Promise<readonly string[]> {
  const { status } = await api.read(ingress);
  return (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }: Address) => ip ?? hostname ?? '');
}

interface Address {
  readonly ip?: string;
  readonly hostname?: string;
}

/** Waits until the host is served and the status of the Ingress says where. */
export async function ours(cluster: Cluster, ingress: Manifest, host: string, product: Product): Promise<void> {
  await served(host, { product });
  const hasOurs = async () => (await addressesOf(cluster, ingress)).join() === PUBLISHED_ADDRESS;
  await eventually(`the address of ${host}`, hasOurs);
}

/** Waits until nobody answers for the host, and the status of the Ingress says so. */
export async function notOurs(cluster: Cluster, ingress: Manifest, host: string, product: Product): Promise<void> {
  await served(host, { status: 404, product });
  await eventually(`no address of ${host}`, async () => (await addressesOf(cluster, ingress)).length === 0);
}

let fences = 0;

/**
 * Resolves when every Ingress, IngressClass, Service and EndpointSlice that was written before has taken effect: each kind
 * arrives in the order of its writes.
 */
export async function everythingBefore({ cluster, product, namespace, ingress }: Site): Promise<void> {
  const name = `fence-${++fences}`;
  const web = await cluster.api.get(`/api/v1/namespaces/${namespace}/services/web`);
  const slice = await cluster.api.get(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/web-a`);
  const labels = { 'kubernetes.io/service-name': name };
  const host = `${name}.test`;
  const spec = { ...(ingress(host)['spec'] as object), ...backendTo(host, name), ingressClassName: name };
  const manifests: readonly Manifest[] = [
    ingressClass(name, 'k8s.io/ingress-nginx'),
    { kind: 'Service', metadata: { name, namespace }, spec: { ports: web['spec'].ports } },
    { ...pick(slice, ['apiVersion', 'addressType', 'ports', 'endpoints']), kind: 'EndpointSlice', metadata: { name, namespace, labels } },
    { ...ingress(host), spec },
  ];
  await cluster.api.apply(...manifests);
  await served(host, { product });
  await cluster.api.remove(...manifests);
}
