/** Which Kubernetes object something is about. `namespace` is empty for cluster-scoped kinds. */
export interface ObjectRef {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** `namespace/name`: how objects of one kind are keyed in every table. Cluster-scoped objects are keyed by `name`. */
export type ObjectKey = string;

export function objectKey(object: { readonly namespace: string; readonly name: string }): ObjectKey {
  return object.namespace === '' ? object.name : `${object.namespace}/${object.name}`;
}

/** The reverse of `objectKey` for one kind. */
export function objectRef(kind: string, key: ObjectKey): ObjectRef {
  const slash = key.indexOf('/');
  return slash < 0
    ? { kind, namespace: '', name: key }
    : { kind, namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** How messages name an object: `Ingress shop/web`. */
export function describeRef(ref: ObjectRef): string {
  return `${ref.kind} ${objectKey(ref)}`;
}
