import { hash } from 'node:crypto';
import type { ServerNameTarget } from '../model/proxy-model.ts';

export type CertificateTarget = Exclude<ServerNameTarget, { readonly passthrough: unknown }>;

/**
 * `shop/tls` for a certificate, `shop/tls~0a1b2c3d` with a policy for TLS, `shop/web/443` for a cluster: names of objects hold neither
 * slash nor tilde, so no two chains share a name. It says all that tells a chain from others, and nothing of hosts.
 */
export function chainName(target: ServerNameTarget): string {
  if ('passthrough' in target) return target.passthrough;
  const { certificate, tls } = target;
  if (tls === undefined) return certificate;
  const sorted = Object.entries(tls).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `${certificate}~${hash('sha256', JSON.stringify(sorted)).slice(0, 8)}`;
}
