import { createHash } from 'node:crypto';
import type { Address, Cluster, ClusterName, Endpoints } from '../model/proxy-model.ts';
import type { NginxUpstream } from './config.ts';

/**
 * The name of a cluster as it may stand in a URL: `shop/web/80` → `shop_web_80`. No part of it has an underscore; a name with
 * anything else in it than Kubernetes allows is known by its hash.
 */
export function upstreamName(cluster: ClusterName): string {
  if (/^[A-Za-z0-9/.~-]+$/.test(cluster)) return cluster.replaceAll('/', '_').replaceAll('~', '__');
  return `cluster-${createHash('sha256').update(cluster).digest('hex').slice(0, 16)}`;
}

/** `shop/web/80~hash` → `shop-web-80`, the name that ingress-nginx writes into its log. */
export function logName(cluster: ClusterName): string {
  return (cluster.split('~')[0] ?? '').replaceAll('/', '-');
}

/** The addresses of a cluster as they are now; `undefined` for none. */
export function nginxUpstream(cluster: Cluster, endpoints: Endpoints | undefined): NginxUpstream | undefined {
  const addresses = endpoints?.addresses ?? [];
  if (addresses.length === 0) return undefined;
  return { name: upstreamName(cluster.name), addresses: addresses.map(socketAddress) };
}

/** `10.0.0.1:80`, `[2001:db8::1]:80` */
export function socketAddress({ ip, port }: Address): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}
