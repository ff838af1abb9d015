/** The secrets of a snapshot as a client sees them that may have those of some namespaces only. */

import { EVERY_NAMESPACE } from './resource.ts';
import type { StoredResource, TypeSnapshot } from './store.ts';

/**
 * To the client nothing else exists.
 * @param onWithheld called the first time that a secret of a namespace is asked for and withheld; `undefined` is a secret that is
 * of no namespace and not for every client either.
 */
export function secretsOf(
  snapshot: TypeSnapshot,
  namespaces: ReadonlySet<string>,
  onWithheld: (namespace: string | undefined) => void,
): TypeSnapshot {
  const told = new Set<string | undefined>();
  const allows = ({ namespace }: StoredResource) =>
    namespace !== undefined && (namespace === EVERY_NAMESPACE || namespaces.has(namespace));
  return {
    get: (name) => {
      const resource = snapshot.get(name);
      if (resource === undefined || allows(resource)) return resource;
      if (!told.has(resource.namespace)) {
        told.add(resource.namespace);
        onWithheld(resource.namespace);
      }
      return undefined;
    },
    *names() {
      for (const name of snapshot.names()) {
        const resource = snapshot.get(name);
        if (resource !== undefined && allows(resource)) yield name;
      }
    },
  };
}
