import type { KubernetesClient } from './client.ts';
import { KubernetesUnreachable } from './errors.ts';
import { asMap } from './json.ts';

/**
 * The zone of the node that a pod runs on (label `topology.kubernetes.io/zone`); `undefined` when the node has none, or pod or
 * node may not be read or do not answer.
 */
export async function readNodeZone(
  client: KubernetesClient,
  podNamespace: string,
  podName: string,
): Promise<string | undefined> {
  const pod = await read(client, `/api/v1/namespaces/${podNamespace}/pods/${podName}`);
  const nodeName = asMap(asMap(pod)['spec'])['nodeName'];
  if (typeof nodeName !== 'string' || nodeName === '') return undefined;
  const node = await read(client, `/api/v1/nodes/${nodeName}`);
  const zone = asMap(asMap(asMap(node)['metadata'])['labels'])['topology.kubernetes.io/zone'];
  return typeof zone === 'string' && zone !== '' ? zone : undefined;
}

async function read(client: KubernetesClient, path: string): Promise<unknown> {
  try {
    const { status, body } = await client.request('GET', path);
    return status === 200 ? body : undefined;
  } catch (error) {
    if (error instanceof KubernetesUnreachable) return undefined;
    throw error;
  }
}
