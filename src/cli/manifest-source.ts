import type { ClusterState, ObjectChange } from '../cluster/cluster-state.ts';
import { parseLocalEndpoints } from '../files/local-endpoints.ts';
import { createFilesSource, type FilesSource } from '../files/manifests.ts';
import type { FilesBatch } from '../files/store.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { compareDiagnostics, type DiagnosticChange } from '../model/diagnostic-change.ts';
import { createEchoEndpoints } from './echo-endpoints.ts';
import { type SourceArguments, UsageError } from './flags.ts';

export interface ManifestSourceOptions {
  readonly state: ClusterState;
  /** Objects were put into the state; `urgent` when all of them are endpoints. */
  onApplied(urgent: boolean): void;
  onDiagnostics(change: DiagnosticChange): void;
  onError(error: unknown): void;
}

export interface ManifestSource {
  readonly locate: FilesSource['locate'];
  /** Those about files and their objects that are in force. */
  diagnostics(): readonly Diagnostic[];
  /** Reads everything into the state, then follows changes. Rejects when a folder cannot be read. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** `--manifests`, `--endpoint` and `--echo` as one source of objects and local endpoints. */
export function createManifestSource(
  args: SourceArguments & {
    readonly echo?: boolean;
    readonly defaultBackendService?: string;
    readonly watch?: boolean;
  },
  options: ManifestSourceOptions,
): ManifestSource {
  const { state, onApplied, onDiagnostics, onError } = options;
  const { endpoints: always, problems } = parseLocalEndpoints(args.endpoint);
  if (problems[0] !== undefined) throw new UsageError(problems[0]);
  for (const [key, value] of always) state.localEndpoints.set(key, value);
  const echo = args.echo ? createEchoEndpoints(state, always, args.defaultBackendService) : undefined;
  let diagnostics: readonly Diagnostic[] = [];
  /** Batches are applied one after another: opening ports for the echo backend takes a moment. */
  let applied: Promise<void> = Promise.resolve();

  const apply = async (batch: FilesBatch) => {
    await echo?.follow(batch.changes);
    state.apply(batch.changes);
    tellDiagnostics(batch.diagnostics);
    if (batch.changes.length > 0) onApplied(batch.changes.every(isEndpointChange));
  };
  const tellDiagnostics = (now: readonly Diagnostic[]) => {
    const change = compareDiagnostics(diagnostics, now);
    diagnostics = now;
    onDiagnostics(change);
  };
  const files = createFilesSource({
    folders: args.manifests,
    watch: args.watch ?? true,
    onChange: (batch) => {
      applied = applied.then(() => apply(batch)).catch(onError);
    },
    onError,
  });
  return {
    locate: files.locate,
    diagnostics: () => diagnostics,
    start: async () => {
      await files.start();
      await applied;
    },
    stop: async () => {
      await files.stop();
      await applied;
      await echo?.close();
    },
  };
}

function isEndpointChange(change: ObjectChange): boolean {
  return ('upsert' in change ? change.upsert : change.remove).kind === 'EndpointSlice';
}
