/** How Ingresses look in the cluster, and what tests of them have in common. */
import { endpointSlice, ingressClass, ingress as ingressManifest, service } from '../../support/manifests.ts';
import type { Manifest } from './api.ts';
import type { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { allResources, routeTable } from './inspect.ts';
import { PUBLISHED_ADDRESS, served } from './product.ts';
import type { Site } from './site.ts';

export const OUR_CONTROLLER = 'k8s.io/ingress-nginx';
/** Where the backend of a site is. */
const WEB_ADDRESS = '10.200.2.1';

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
export async function ours({ cluster, product }: Site, ingress: Manifest, host: string): Promise<void> {
  await served(host, { product });
  const hasOurs = async () => (await addressesOf(cluster, ingress)).join() === PUBLISHED_ADDRESS;
  await eventually(`the address of ${host}`, hasOurs);
}

/** Waits until nobody answers for the host, and the status of the Ingress says so. */
export async function notOurs({ cluster, product }: Site, ingress: Manifest, host: string): Promise<void> {
  await served(host, { status: 404, product });
  await eventually(`no address of ${host}`, async () => (await addressesOf(cluster, ingress)).length === 0);
}

/** A Service on port 80 and the slice of its endpoints, which lead to the backend of a site unless told otherwise. */
export function webService(namespace: string, name: string, address = WEB_ADDRESS): readonly Manifest[] {
  return [service(name, [{ port: 80, targetPort: 8080 }], namespace), endpointSlice(name, [address], { namespace })];
}

let fences = 0;

/**
 * Resolves when every Ingress, IngressClass, Service and EndpointSlice that was written before has taken effect: each kind
 * arrives in the order of its writes.
 */
export async function everythingBefore({ cluster, product, namespace }: Site): Promise<void> {
  const name = `fence-${++fences}`;
  const rules = [{ host: `${name}.test`, paths: [{ service: `${name}:80` }] }];
  const manifests = [
    ingressClass(name, OUR_CONTROLLER),
    ...webService(namespace, name),
    ingressManifest({ name, namespace, rules, className: name }),
  ];
  await cluster.api.apply(...manifests);
  await served(`${name}.test`, { product });
  await cluster.api.remove(...manifests);
  await eventually('an end without traces', async () =>
    [...(await allResources()), ...(await routeTable())].every((line) => !line.includes(name)),
  );
}
