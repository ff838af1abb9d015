import type { ClusterState, ObjectChange } from '../cluster/cluster-state.ts';
import type { FilesSource } from '../files/manifests.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { DiagnosticChange } from '../model/diagnostic-change.ts';

export interface SourceOptions {
  readonly state: ClusterState;
  /** Objects were put into the state; `urgent` when all of them are endpoints. */
  onApplied(urgent: boolean): void;
  onDiagnostics(change: DiagnosticChange): void;
  onError(error: unknown): void;
}

/** Where the objects come from: a folder of manifests, or a cluster. */
export interface Source {
  /** Where an object stands in the files, if it comes from files. */
  readonly locate?: FilesSource['locate'];
  /** Those about the source itself that are in force. */
  diagnostics(): readonly Diagnostic[];
  /** Reads everything into the state, then follows changes. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Endpoints move most often, and what they change costs least. */
export function areEndpoints(changes: readonly ObjectChange[]): boolean {
  return changes.every((change) => ('upsert' in change ? change.upsert : change.remove).kind === 'EndpointSlice');
}
