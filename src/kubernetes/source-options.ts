/** What a source is told, and what it tells. */
import type { ObjectChange } from '../cluster/cluster-state.ts';
import type { ConfigMap, Ingress } from '../cluster/objects.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { DiagnosticChange } from '../model/diagnostic-change.ts';
import type { ObjectRef } from '../model/object-ref.ts';
import type { KubernetesClient } from './client.ts';
import type { Clock } from './clock.ts';
import type { WatchedKind } from './kinds.ts';
import type { ReflectorEvent } from './reflector.ts';

export interface KubernetesSourceOptions {
  readonly client: KubernetesClient;
  /** Every request is for this namespace only, so that a Role suffices. */
  readonly namespace?: string;
  /** A label selector: only the objects of namespaces that match are read, and those that come to match or cease to. */
  readonly namespaceSelector?: string;
  /** ConfigMaps, Secrets and Services (with their EndpointSlices) that flags name: read wherever they are. */
  readonly named: readonly ObjectRef[];
  /** Secrets and ConfigMaps that an Ingress refers to. */
  referencesOf(ingress: Ingress): readonly ObjectRef[];
  /** ConfigMaps that one which flags name refers to: read wherever they are, too. */
  referencesOfNamed?(configMap: ConfigMap): readonly ObjectRef[];
  /** The first batch holds everything; later ones what changed. Must not throw. */
  onChanges(changes: readonly ObjectChange[]): void;
  onDiagnostics(change: DiagnosticChange): void;
  /** For metrics and tests. Called synchronously; must not throw. */
  observe?(event: SourceEvent): void;
  readonly clock?: Clock;
  /** After how many milliseconds without a byte a watch counts as broken. Bookmarks come each minute; default 90,000. */
  readonly idleMs?: number;
  /** How long one answer to a list may take, in milliseconds; default 30,000. */
  readonly timeoutMs?: number;
}

/** What happens between this source and the API server. */
export type SourceEvent =
  | (ReflectorEvent & { readonly kind: WatchedKind; readonly namespace?: string; readonly name?: string })
  /** One object whose bytes were not held is read by name. */
  | { readonly type: 'read'; readonly ref: ObjectRef };

export interface KubernetesSource {
  /** Resolves when all kinds have been read and handed over; for as long as that is not possible it goes on trying. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Whether the objects of this namespace are served, as far as is known. */
  watches(namespace: string): boolean;
  /** Those about the API server and about the shape of objects that are in force. */
  diagnostics(): readonly Diagnostic[];
}
