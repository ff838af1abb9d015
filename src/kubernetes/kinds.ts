/** Where the API server has the kinds that are watched. */
import type { ObjectKind } from '../cluster/objects.ts';

export type WatchedKind = ObjectKind | 'Namespace';

export interface KindDescription {
  readonly apiVersion: string;
  /** As in paths and in the rules of a Role. */
  readonly resource: string;
  readonly isNamespaced: boolean;
  /** Which of them are read at all. */
  readonly fieldSelector?: string;
}

const descriptions: Readonly<Record<WatchedKind, KindDescription>> = {
  Ingress: { apiVersion: 'networking.k8s.io/v1', resource: 'ingresses', isNamespaced: true },
  IngressClass: { apiVersion: 'networking.k8s.io/v1', resource: 'ingressclasses', isNamespaced: false },
  Service: { apiVersion: 'v1', resource: 'services', isNamespaced: true },
  EndpointSlice: { apiVersion: 'discovery.k8s.io/v1', resource: 'endpointslices', isNamespaced: true },
  // Helm keeps a large Secret for every release of everything, which nobody refers to.
  Secret: { apiVersion: 'v1', resource: 'secrets', isNamespaced: true, fieldSelector: 'type!=helm.sh/release.v1' },
  ConfigMap: { apiVersion: 'v1', resource: 'configmaps', isNamespaced: true },
  Namespace: { apiVersion: 'v1', resource: 'namespaces', isNamespaced: false },
};

export function describeKind(kind: WatchedKind): KindDescription {
  return descriptions[kind];
}

/** Of all objects of a kind, or those of one namespace. */
export function collectionPath(kind: WatchedKind, namespace?: string): string {
  const { apiVersion, resource, isNamespaced } = descriptions[kind];
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const scope = isNamespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${group}${scope}/${resource}`;
}

/** What to write into a Role so that a refused kind is allowed: `secrets (apiGroup "")`. */
export function describeGrant(kind: WatchedKind): string {
  const { apiVersion, resource } = descriptions[kind];
  return `${resource} (apiGroup ${JSON.stringify(apiVersion.includes('/') ? apiVersion.split('/')[0] : '')})`;
}
