import { createHash } from 'node:crypto';
import { canonicalIp } from '../ip-address.ts';
import type { Address, Cluster, ClusterName, ClusterPolicy, Endpoints } from '../model/proxy-model.ts';
import type { UpstreamSettings } from '../model/settings.ts';
import type { NginxChoice, NginxUpstream } from './config.ts';
import { expanded } from './variables.ts';

/** Longer names do not fit into a token of the configuration, with what stands around them. */
const MAX_NAME_LENGTH = 512;

/**
 * The name of a cluster as it may stand in a URL: `shop/web/80` → `shop_web_80`. No part of it has an underscore; a name with
 * anything else in it than Kubernetes allows is known by its hash.
 */
export function upstreamName(cluster: ClusterName): string {
  if (/^[a-z0-9/.~@-]+$/.test(cluster) && cluster.length <= MAX_NAME_LENGTH)
    return cluster.replaceAll('/', '_').replaceAll('~', '__').replaceAll('@', '___');
  return `cluster-${createHash('sha256').update(cluster).digest('hex').slice(0, 16)}`;
}

/** `shop/web/80~hash` → `shop-web-80`, the name that ingress-nginx writes into its log. */
export function logName(cluster: ClusterName): string {
  const name = (cluster.split('~')[0] ?? '').replaceAll('/', '-').slice(0, MAX_NAME_LENGTH);
  return name.replaceAll(/[^\w.-]/g, '_');
}

/** The addresses of a cluster as they are now; `undefined` for none. */
export function nginxUpstream(
  { name, policy }: Cluster,
  endpoints: Endpoints | undefined,
  { loadBalancing }: UpstreamSettings,
): NginxUpstream | undefined {
  const addresses = endpoints?.addresses ?? [];
  if (addresses.length === 0) return undefined;
  const choice = nginxChoice(policy) ?? { kind: loadBalancing };
  return { name: upstreamName(name), addresses: addresses.map(socketAddress), choice };
}

/** How addresses are chosen; `undefined` for as the settings say. */
export function nginxChoice({ hashBy, loadBalancing }: ClusterPolicy = {}): NginxChoice | undefined {
  if (hashBy === undefined) return loadBalancing && { kind: loadBalancing };
  const { key, subset } = hashBy;
  return { kind: 'hash', key: expanded(key), ...(subset !== undefined && { subset }) };
}

/** `10.0.0.1:80`, `[2001:db8::1]:80` */
export function socketAddress({ ip, port }: Address): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}

/** `host:port` of an ExternalName Service. */
export function externalAddress({ hostname, port }: { readonly hostname: string; readonly port: number }): string {
  return socketAddress({ ip: hostname, port });
}

/** Whether nginx has to ask a DNS server for it: it is no address. */
export function needsResolver(hostname: string): boolean {
  return canonicalIp(hostname) === undefined;
}
