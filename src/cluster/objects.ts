/**
 * The Kubernetes objects as far as they are read: cut down on arrival, with every optional list present.
 * Both sources (files, API server) make them through `decode.ts`; nothing later can tell which it was.
 */

export interface ObjectMeta {
  readonly namespace: string;
  readonly name: string;
  /** Seconds since 1970 as in Kubernetes; 0 when absent, so that such objects are of equal age. */
  readonly creationTimestamp: number;
  readonly generation?: number;
  readonly resourceVersion?: string;
  /** Distinguishes an object from an earlier one of the same name; only from an API server. */
  readonly uid?: string;
}

export interface Ingress extends ObjectMeta {
  readonly kind: 'Ingress';
  readonly annotations: Readonly<Record<string, string>>;
  readonly ingressClassName?: string;
  readonly defaultBackend?: IngressBackend;
  readonly rules: readonly IngressRule[];
  readonly tls: readonly IngressTls[];
  /**
   * IP addresses and host names of `status.loadBalancer` as they were when the object arrived; absent when there are none. For the
   * status writer, which takes it from the change: a change of nothing else is none, so the object in `ClusterState` shows a former one.
   */
  readonly loadBalancer?: readonly string[];
}

export interface IngressRule {
  /** As written; absent or empty for the default server. */
  readonly host?: string;
  readonly paths: readonly IngressPath[];
}

export interface IngressPath {
  /** As written; absent means `/`. */
  readonly path?: string;
  readonly pathType?: string;
  readonly backend: IngressBackend;
}

export interface IngressBackend {
  readonly service?: { readonly name: string; readonly port: { readonly number?: number; readonly name?: string } };
  readonly resource?: { readonly apiGroup?: string; readonly kind: string; readonly name: string };
}

export interface IngressTls {
  readonly hosts: readonly string[];
  readonly secretName?: string;
}

/** Cluster-scoped: `namespace` is empty. */
export interface IngressClass extends ObjectMeta {
  readonly kind: 'IngressClass';
  readonly controller: string;
}

export interface Service extends ObjectMeta {
  readonly kind: 'Service';
  readonly annotations: Readonly<Record<string, string>>;
  /** `ClusterIP` when absent. */
  readonly type: string;
  readonly externalName?: string;
  readonly clusterIP?: string;
  /** `PreferClose`, `PreferSameZone`, `PreferSameNode` */
  readonly trafficDistribution?: string;
  readonly ports: readonly ServicePort[];
}

export interface ServicePort {
  /** Absent on a Service with a single port. */
  readonly name?: string;
  readonly port: number;
  /** A number, or the name of a container port. */
  readonly targetPort?: number | string;
  readonly protocol: string;
}

/** Also made from old Endpoints objects: one per subset and address family, named `<endpoints>~<index>`. */
export interface EndpointSlice extends ObjectMeta {
  readonly kind: 'EndpointSlice';
  /** Name of the Service it belongs to (label `kubernetes.io/service-name`); empty when it belongs to none. */
  readonly service: string;
  readonly addressType: string;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly SliceEndpoint[];
}

export interface EndpointPort {
  /** Empty for the unnamed port. */
  readonly name: string;
  /** Absent means every port. */
  readonly port?: number;
  readonly protocol: string;
}

export interface SliceEndpoint {
  readonly addresses: readonly string[];
  /** `conditions.ready`, true when absent. */
  readonly ready: boolean;
  readonly serving?: boolean;
  readonly terminating?: boolean;
  readonly zone?: string;
  /** The zones whose proxies should use it (`hints.forZones`). */
  readonly forZones?: readonly string[];
}

export interface Secret extends ObjectMeta {
  readonly kind: 'Secret';
  readonly type: string;
  readonly data: Readonly<Record<string, Uint8Array>>;
}

export interface ConfigMap extends ObjectMeta {
  readonly kind: 'ConfigMap';
  readonly data: Readonly<Record<string, string>>;
}

export type KubernetesObject = Ingress | IngressClass | Service | EndpointSlice | Secret | ConfigMap;
export type ObjectKind = KubernetesObject['kind'];
