/** What the xDS server knows of a resource: its name, version and bytes. It never looks inside the bytes. */

export const typeUrls = {
  cluster: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
  endpoints: 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
  secret: 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret',
  extension: 'type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig',
  listener: 'type.googleapis.com/envoy.config.listener.v3.Listener',
  routes: 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration',
  scopedRoutes: 'type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration',
} as const;

export type TypeUrl = (typeof typeUrls)[keyof typeof typeUrls];

/** `type.googleapis.com/envoy.config.cluster.v3.Cluster` → `Cluster`, for people and metrics. */
export function shortTypeName(typeUrl: string): string {
  return typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
}

/** The namespace of a secret that every client may have which may have secrets at all. */
export const EVERY_NAMESPACE = '*';

export interface Resource {
  readonly name: string;
  /** Changes exactly when the bytes do: a content hash, equal on every replica and after a restart. */
  readonly version: string;
  /**
   * The encoded message (the value of the Any). Called only when the resource is really sent, so that aggregates (a route table)
   * are not assembled for nobody; equal calls give equal bytes. The result is never modified.
   */
  bytes(): Uint8Array;
  /** What `bytes` returns is not kept, but asked for whenever it is sent: for content that is held elsewhere anyway. */
  readonly transient?: true;
  /**
   * The same message under another spelling of its name, for messages that repeat it. A resource that has this is found in upper
   * and lower case (its own name is in lower case), and what is returned is not kept, nor what `bytes` returns.
   */
  bytesAs?(spelling: string): Uint8Array;
  /** For a cluster: the endpoints it names; they are sent again whenever the cluster was (Envoy does not ask again). */
  readonly endpoints?: string;
  /** For a cluster: the secrets it names, without which it is not ready for traffic. */
  readonly secrets?: readonly string[];
  /**
   * For a secret: the namespace that it belongs to, or `EVERY_NAMESPACE`. Clients that may have the secrets of some namespaces
   * only get no secret without it.
   */
  readonly namespace?: string;
  /** For a scope: the routes it leads to. A client that holds the scope gets it changed only once it has accepted these routes. */
  readonly routes?: string;
  /** For a listener that leads to a cluster by itself, without routes: this cluster. It waits for it as routes wait for clusters. */
  readonly cluster?: string;
  /** For a listener that leads to clusters beside routes: it waits for clusters as routes do. */
  readonly leadsToClusters?: true;
  /** What made it, for reports about a rejected resource: keys of Ingresses (`namespace/name`). Not part of the content. */
  readonly origin: readonly string[] | (() => readonly string[]);
}

/** A set of changes that belongs together: a stream sees all of it or nothing. */
export interface ResourceChange {
  readonly typeUrl: TypeUrl;
  readonly name: string;
  /** `undefined` removes. */
  readonly resource: Resource | undefined;
}
