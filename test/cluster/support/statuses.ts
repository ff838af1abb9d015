/** Ingresses of which only the status counts. */
import { loadBalancerOf } from '../../../src/cluster/decode-ingress.ts';
import { ingress } from '../../support/manifests.ts';
import { type KubernetesObject, type Manifest, type ObjectMetadata, pathOf } from './api.ts';
import type { Cluster } from './cluster.ts';
import { eventually } from './eventually.ts';

/** To the Service `web`, which need not exist; its host is NAME.test. */
export function plainIngress(namespace: string, name: string): Manifest {
  return ingress({ namespace, name, rules: [{ host: `${name}.test`, paths: [{ service: 'web:80' }] }] });
}

export async function statusOf(cluster: Cluster, manifest: Manifest): Promise<readonly string[]> {
  return loadBalancerOf(await cluster.api.read(manifest));
}

/** Waits until the status shows these addresses, in any order. */
export async function addressed(cluster: Cluster, manifest: Manifest, addresses: readonly string[]): Promise<void> {
  const wanted = addresses.toSorted().join();
  await eventually(`the addresses "${wanted}" of ${metadataOf(manifest).name}`, async () => {
    const shown = (await statusOf(cluster, manifest)).toSorted().join();
    if (shown !== wanted) throw new Error(`the status shows "${shown}"`);
    return true;
  });
}

/** As somebody else would. */
export async function writeStatus(cluster: Cluster, manifest: Manifest, ips: readonly string[]): Promise<void> {
  const status = { loadBalancer: { ingress: ips.map((ip) => ({ ip })) } };
  await cluster.api.patch(`${pathOf(manifest)}/status`, { status });
}

export function metadataOf(manifest: Manifest): ObjectMetadata {
  return (manifest as unknown as KubernetesObject).metadata;
}
