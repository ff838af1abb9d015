import { createHash } from 'node:crypto';

/** Type URLs of the resources that are emitted. */
export const typeUrls = {
  cluster: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
  endpoints: 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
  secret: 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret',
  extension: 'type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig',
  listener: 'type.googleapis.com/envoy.config.listener.v3.Listener',
  routes: 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration',
  scopedRoutes: 'type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration',
} as const;

export type EmittedTypeUrl = (typeof typeUrls)[keyof typeof typeUrls];

/** The namespace of a secret that belongs to all. */
export const EVERY_NAMESPACE = '*';

/** One encoded message with its name and version, ready to be published. */
export interface EncodedResource {
  readonly name: string;
  /** 16 hex digits that change exactly when the bytes do. */
  readonly version: string;
  /** The encoded message. Aggregates are put together on the first call only. */
  bytes(): Uint8Array;
  /** `bytes` encodes the message anew, and nobody keeps what it returns: a certificate is held once, in its Secret. */
  readonly transient?: true;
  /** The message under another spelling of its name, where it may be asked for in upper or lower case. */
  bytesAs?(spelling: string): Uint8Array;
  /** For a cluster: the name of the endpoints that it refers to. */
  readonly endpoints?: string;
  /** For a cluster: the names of the secrets that it waits for. */
  readonly secrets?: readonly string[];
  /** For a scope: the name of the route table that it leads to. */
  readonly routes?: string;
  /** For a listener that leads to one cluster, without routes: the name of this cluster. */
  readonly cluster?: string;
  /** For a listener that leads to clusters among other things: it is sent when the client has them. */
  readonly leadsToClusters?: true;
  /** For a secret: the namespace whose clients may have it, or `EVERY_NAMESPACE`. */
  readonly namespace?: string;
  /** Keys (`namespace/name`) of the Ingresses that made it; looked up when asked for, since only rejections need it. */
  readonly origin: () => readonly string[];
}

/** What goes with the bytes of a resource. */
interface Attributes {
  readonly endpoints?: string;
  readonly secrets?: readonly string[];
  readonly routes?: string;
  readonly cluster?: string;
  readonly leadsToClusters?: true;
  readonly origin?: () => readonly string[];
}

/** A resource whose bytes exist already. They stand in a closure, so that dumps of the object do not show keys. */
export function encodedResource(name: string, bytes: Uint8Array, attributes: Attributes = {}): EncodedResource {
  return { origin: () => [], ...attributes, name, version: contentVersion(bytes), bytes: () => bytes };
}

/** Equality of units whose values are encoded. */
export function sameVersion(a: { readonly version: string }, b: { readonly version: string }): boolean {
  return a.version === b.version;
}

/** The first 16 hex digits of the SHA-256 of the parts, one after another. */
export function contentVersion(...parts: readonly (Uint8Array | string)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex').slice(0, 16);
}
