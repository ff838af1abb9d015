import type { ClusterState, LocalEndpoints, ObjectChange } from '../cluster/cluster-state.ts';
import type { KubernetesObject } from '../cluster/objects.ts';
import { deepEqual } from '../derive.ts';
import { createEcho, type Echo, referencedServicePorts, type ServicePortRef, servicePortKey } from '../files/echo.ts';
import { parseLocalEndpoints } from '../files/local-endpoints.ts';
import { createFilesSource, type FilesSource } from '../files/manifests.ts';
import type { FilesBatch } from '../files/store.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { objectKey } from '../model/object-ref.ts';
import { type SourceArguments, UsageError } from './flags.ts';

export interface ManifestSourceOptions {
  readonly state: ClusterState;
  /** Objects were put into the state; `urgent` when all of them are endpoints. */
  onApplied(urgent: boolean): void;
  onDiagnostics(change: { readonly added: readonly Diagnostic[]; readonly removed: readonly Diagnostic[] }): void;
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
    const added = now.filter((one) => !diagnostics.some((other) => deepEqual(one, other)));
    const removed = diagnostics.filter((one) => !now.some((other) => deepEqual(one, other)));
    diagnostics = now;
    onDiagnostics({ added, removed });
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

/** How long the echo backend goes on answering for what nobody refers to any more: routes are still on their way. */
const RELEASE_DELAY_MS = 5_000;

/** Keeps the echo backend listening for every Service port that an Ingress, or `--default-backend-service`, refers to. */
function createEchoEndpoints(
  state: ClusterState,
  always: ReadonlyMap<string, LocalEndpoints>,
  defaultBackendService: string | undefined,
) {
  const echo: Echo = createEcho();
  const byObject = new Map<string, readonly ServicePortRef[]>();
  const references = new Map<string, { readonly ref: ServicePortRef; count: number }>();
  const served = new Set<string>();
  let releaseTimer: NodeJS.Timeout | undefined;

  const count = (ref: ServicePortRef, change: number) => {
    const key = servicePortKey(ref);
    const reference = references.get(key) ?? { ref, count: 0 };
    reference.count += change;
    references.set(key, reference);
  };
  const release = async () => {
    for (const [key, reference] of references) {
      if (reference.count > 0) continue;
      references.delete(key);
      served.delete(key);
      state.localEndpoints.set(key, always.get(key));
    }
    await echo.serve([...references.values()].map(({ ref }) => ref));
  };
  const settle = async () => {
    const missing = [...references].filter(([key, reference]) => reference.count > 0 && !served.has(key));
    if (missing.length > 0) {
      const addresses = await echo.serve([...references.values()].map(({ ref }) => ref));
      for (const [key] of missing) {
        const address = addresses.get(key);
        if (address === undefined) continue;
        state.localEndpoints.set(key, { ...always.get(key), fallback: [address] });
        served.add(key);
      }
    }
  };
  return {
    async follow(changes: readonly ObjectChange[]): Promise<void> {
      let lost = false;
      for (const change of changes) {
        const object = 'upsert' in change ? change.upsert : change.remove;
        const key = `${object.kind} ${objectKey(object)}`;
        const former = byObject.get(key) ?? [];
        const next = 'upsert' in change ? referencesOf(change.upsert, defaultBackendService) : [];
        for (const ref of next) count(ref, 1);
        for (const ref of former) count(ref, -1);
        lost ||= former.length > 0;
        if (next.length > 0) byObject.set(key, next);
        else byObject.delete(key);
      }
      await settle();
      if (lost)
        releaseTimer ??= setTimeout(() => {
          releaseTimer = undefined;
          void release();
        }, RELEASE_DELAY_MS).unref();
    },
    async close(): Promise<void> {
      clearTimeout(releaseTimer);
      await echo.close();
    },
  };
}

function referencesOf(object: KubernetesObject, defaultBackendService: string | undefined): ServicePortRef[] {
  if (object.kind === 'Ingress') return referencedServicePorts(object);
  if (object.kind !== 'Service' || objectKey(object) !== defaultBackendService) return [];
  const port = object.ports.find(({ protocol }) => protocol === 'TCP')?.port;
  return port === undefined ? [] : [{ namespace: object.namespace, service: object.name, port: String(port) }];
}
