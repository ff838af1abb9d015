import type { ClusterName } from './proxy-model.ts';
import type { Template } from './template.ts';

/** What a copy is marked with: a request that has it is served and not copied again, so that copies which come back end there. */
export const COPY_MARK = 'x-ingress-copy';

/** Copies of requests, whose answers nobody sees. */
export interface Mirror {
  readonly target: MirrorTarget;
  /** Path and query of a copy. It begins with `/` whatever the request. */
  readonly path: Template;
  /** `Host` of a copy. */
  readonly host: Template;
  /** Whether a copy has the body of its request. */
  readonly body: boolean;
}

/** Where copies go. */
export interface MirrorTarget {
  /** Whether TLS is spoken there; whatever certificate is shown is believed. */
  readonly tls: boolean;
  /** A DNS name, or an IP literal in canonical form. */
  readonly hostname: string;
  readonly port: number;
}

/** The cluster of a target: `https://copies.example.com:443`. No other cluster has a colon in its name. */
export function mirrorClusterName({ tls, hostname, port }: MirrorTarget): ClusterName {
  return `${tls ? 'https' : 'http'}://${authorityHost(hostname)}:${port}`;
}

/** A host as URLs have it: an address of IPv6 in brackets. */
export function authorityHost(hostname: string): string {
  return hostname.includes(':') ? `[${hostname}]` : hostname;
}
