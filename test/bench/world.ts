/** The objects that a bench serves: decided by their number alone, so that every run measures the same. */
import { endpointSlice, ingress, type Manifest, service, tlsSecret } from '../support/manifests.ts';
import { makePair, type Pair } from '../support/pki.ts';

export const NAMESPACE = 'bench';

/** Every second Ingress has TLS, and ten of them share a certificate. */
const INGRESSES_PER_CERTIFICATE = 20;

export interface Tenant {
  /** Of the Ingress, the Service and the EndpointSlice; the host is `<name>.example.com`. */
  readonly name: string;
  /** Two by default. */
  readonly paths?: readonly string[];
  /** Name of a TLS Secret. */
  readonly secret?: string;
  /** Where its only endpoint listens. */
  readonly port: number;
}

export const PATHS: readonly string[] = ['/shop', '/cart'];

export function hostOf(name: string): string {
  return `${name}.example.com`;
}

export function ingressOf({ name, paths = PATHS, secret }: Tenant): Manifest {
  return ingress({
    name,
    namespace: NAMESPACE,
    rules: [{ host: hostOf(name), paths: paths.map((path) => ({ path, service: `${name}:80` })) }],
    ...(secret !== undefined && { tls: [{ hosts: [hostOf(name)], secretName: secret }] }),
  });
}

export function sliceOf({ name, port }: Pick<Tenant, 'name' | 'port'>): Manifest {
  return endpointSlice(name, ['127.0.0.1'], { namespace: NAMESPACE, port });
}

/** An Ingress with a Service and an EndpointSlice of its own. */
export function tenantManifests(tenant: Tenant): Manifest[] {
  return [ingressOf(tenant), service(tenant.name, [{ port: 80 }], NAMESPACE), sliceOf(tenant)];
}

/** The tenant number `index`, counted from 0: TLS for even numbers. */
export function tenantAt(index: number, port: number): Tenant {
  const name = nameAt(index);
  return { name, port, ...(index % 2 === 0 && { secret: secretAt(Math.floor(index / INGRESSES_PER_CERTIFICATE)) }) };
}

export function nameAt(index: number): string {
  return `app-${String(index).padStart(5, '0')}`;
}

export function secretAt(certificate: number): string {
  return `tls-${String(certificate).padStart(5, '0')}`;
}

export function certificateCount(ingresses: number): number {
  return Math.ceil(ingresses / INGRESSES_PER_CERTIFICATE);
}

/** A new pair for the hosts of one of the certificates. */
export function makePairAt(certificate: number): Promise<Pair> {
  const first = certificate * INGRESSES_PER_CERTIFICATE;
  return makePair(Array.from({ length: INGRESSES_PER_CERTIFICATE / 2 }, (_, i) => hostOf(nameAt(first + 2 * i))));
}

/** Everything, in the order in which a source would deliver it. */
export function* worldManifests(ingresses: number, pairs: readonly Pair[], port: number): Iterable<Manifest> {
  for (const [certificate, pair] of pairs.slice(0, certificateCount(ingresses)).entries()) {
    yield tlsSecret(secretAt(certificate), pair, NAMESPACE);
  }
  for (let index = 0; index < ingresses; index++) yield* tenantManifests(tenantAt(index, port));
}
