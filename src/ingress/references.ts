import type { Ingress } from '../cluster/objects.ts';
import type { ObjectRef } from '../model/object-ref.ts';

/** The Secrets that an Ingress refers to: sources that do not hold everything read these. */
export function referencesOf({ namespace, tls }: Ingress): readonly ObjectRef[] {
  const names = new Set(tls.flatMap(({ secretName }) => (secretName ? [secretName] : [])));
  return [...names].map((name) => ({ kind: 'Secret', namespace, name }));
}
