/** The addresses in the status of one Ingress: how they are compared, read and written. */
import { loadBalancerOf } from '../cluster/decode-ingress.ts';
import { canonicalIp } from '../ip-address.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import type { KubernetesClient } from './client.ts';
import { KubernetesStatusError } from './errors.ts';
import { asMap } from './json.ts';

/** The same text for the same addresses in any order and spelling; empty when there are none. */
export function canonicalAddresses(addresses: readonly string[]): string {
  return [...new Set(addresses.map((text) => canonicalIp(text)?.ip ?? text))].sort().join('\n');
}

export type StatusRequest = 'read' | 'write' | 'conflict';

const CONFLICTS = 5;

/**
 * Reads the Ingress, asks `decide` what its addresses are to be, and writes them if there is an answer; anew when somebody else has
 * written meanwhile. False when the Ingress is gone.
 * @throws KubernetesUnreachable, KubernetesStatusError
 */
export async function updateIngressStatus(
  client: Pick<KubernetesClient, 'request'>,
  key: ObjectKey,
  options: {
    readonly decide: (current: string) => readonly string[] | undefined;
    readonly observe: (request: StatusRequest) => void;
    readonly signal: AbortSignal;
  },
): Promise<boolean> {
  const { decide, observe, signal } = options;
  const { namespace, name } = objectRef('Ingress', key);
  const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses/${name}`;
  for (let attempt = 1; ; attempt++) {
    observe('read');
    const read = await client.request('GET', path, { signal });
    if (read.status === 404) return false;
    if (read.status !== 200) throw new KubernetesStatusError(read.status, read.body, read.headers);
    const addresses = decide(canonicalAddresses(loadBalancerOf(read.body)));
    if (addresses === undefined) return true;
    observe('write');
    const body = withAddresses(read.body, addresses);
    const written = await client.request('PUT', `${path}/status`, { body, signal });
    if (written.status === 200 || written.status === 404) return written.status === 200;
    if (written.status !== 409 || attempt === CONFLICTS) {
      throw new KubernetesStatusError(written.status, written.body, written.headers);
    }
    observe('conflict');
  }
}

/** Without ports, as ingress-nginx. */
function withAddresses(raw: unknown, addresses: readonly string[]): unknown {
  const ingress = addresses.map((address) => (canonicalIp(address) ? { ip: address } : { hostname: address }));
  return { ...asMap(raw), status: { ...asMap(asMap(raw)['status']), loadBalancer: { ingress } } };
}
