import type { ObjectChange } from '../cluster/cluster-state.ts';
import { referencesOf, referencesOfConfigMap } from '../ingress/references.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { createKubernetesSource } from '../kubernetes/source.ts';
import type { SourceEvent } from '../kubernetes/source-options.ts';
import { type ObjectRef, objectKey, objectRef } from '../model/object-ref.ts';
import type { ClusterArguments, IngressArguments } from './flags.ts';
import { areEndpoints, type Source, type SourceOptions } from './source.ts';

export interface ClusterSourceOptions extends SourceOptions {
  readonly client: KubernetesClient;
  /** Every batch, before it is put into the state. */
  onChanges?(changes: readonly ObjectChange[]): void;
  observe?(event: SourceEvent): void;
}

export interface ClusterSource extends Source {
  /** Whether the objects of this namespace are served, as far as is known. */
  watches(namespace: string): boolean;
}

/** The objects of a cluster. */
export function createClusterSource(
  args: ClusterArguments & IngressArguments,
  options: ClusterSourceOptions,
): ClusterSource {
  const { client, state, onChanges, onApplied, onDiagnostics, observe } = options;
  return createKubernetesSource({
    client,
    ...(args.watchNamespace !== undefined && { namespace: args.watchNamespace }),
    ...(args.watchNamespaceSelector !== undefined && { namespaceSelector: args.watchNamespaceSelector }),
    named: namedObjects(args),
    referencesOf: (ingress) => referencesOf(ingress, args.annotationsPrefix),
    referencesOfNamed: (configMap) => (objectKey(configMap) === args.configmap ? referencesOfConfigMap(configMap) : []),
    onChanges: (changes) => {
      onChanges?.(changes);
      state.apply(changes);
      if (changes.length > 0) onApplied(areEndpoints(changes));
    },
    onDiagnostics,
    ...(observe && { observe }),
  });
}

/** What flags name is read wherever it is. */
function namedObjects(args: IngressArguments): readonly ObjectRef[] {
  const named: readonly (readonly [kind: string, key: string | undefined])[] = [
    ['ConfigMap', args.configmap],
    ['ConfigMap', args.tcpServicesConfigmap],
    ['ConfigMap', args.udpServicesConfigmap],
    ['Secret', args.defaultSslCertificate],
    ['Service', args.defaultBackendService],
  ];
  return named.flatMap(([kind, key]) => (key === undefined ? [] : [objectRef(kind, key)]));
}
