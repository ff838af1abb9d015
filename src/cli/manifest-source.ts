import { parseLocalEndpoints } from '../files/local-endpoints.ts';
import { createFilesSource } from '../files/manifests.ts';
import { STDIN } from '../files/scan.ts';
import type { FilesBatch } from '../files/store.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { compareDiagnostics } from '../model/diagnostic-change.ts';
import { createEchoEndpoints } from './echo-endpoints.ts';
import { type SourceArguments, UsageError } from './flags.ts';
import { areEndpoints, type Source, type SourceOptions } from './source.ts';

/** `--manifests`, `--endpoint` and `--echo` as one source of objects and local endpoints. */
export function createManifestSource(
  args: SourceArguments & {
    readonly echo?: boolean;
    readonly defaultBackendService?: string;
    readonly watch?: boolean;
    /** As in `FilesSourceOptions`. */
    readonly onThread?: () => void;
  },
  options: SourceOptions,
): Source {
  const { state, onApplied, onDiagnostics, onError } = options;
  if (args.watch !== false && args.manifests.includes(STDIN))
    throw new UsageError('--manifests -: the standard input is for check and translate, which read it once');
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
    if (batch.changes.length > 0) onApplied(areEndpoints(batch.changes));
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
    ...(args.onThread && { onThread: args.onThread }),
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
