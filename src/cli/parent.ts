import { writeFile } from 'node:fs/promises';
import { availableParallelism, hostname, tmpdir } from 'node:os';
import { createAdmin } from '../envoy/admin.ts';
import { buildBootstrap } from '../envoy/bootstrap.ts';
import type { LogLevel } from '../envoy/command-line.ts';
import { type DrainOutcome, type DrainSettings, drainEnvoy } from '../envoy/drain.ts';
import { findPortFaults, type ProxyPort } from './port-check.ts';
import { type ControlPlaneProcess, createProcessTree, type EnvoyProcess, type LogEntry } from './process-tree.ts';
import { createRuntimeFolder, type RuntimePaths, removeRuntimeFolder } from './runtime-folder.ts';
import { type EndRequests, outliveTerminal, signalExitCode, watchEndRequests } from './signals.ts';

export interface EnvoyOptions extends Partial<EnvoyProcess> {
  readonly path: string;
  /** Default: a bootstrap that connects to the control plane of this process tree. */
  readonly bootstrap?: (paths: RuntimePaths, concurrency: number) => object;
}

export interface ParentOptions {
  readonly envoy: EnvoyOptions;
  readonly controlPlane: ControlPlaneProcess;
  /** Ports that Envoy will listen on, checked before anything starts. */
  readonly ports: readonly ProxyPort[];
  readonly drain: DrainSettings;
  /** Where the folder of this process tree is made; default: the system's folder for temporary files. */
  readonly runtimeDir?: string;
  readonly onLog: (entry: LogEntry) => void;
}

/** What somebody at a terminal wants: requests in flight are answered, then the prompt. */
export const TERMINAL_DRAIN: DrainSettings = { gracePeriodMs: 0, deadlineMs: 5_000, quietMs: 500 };

/** Long enough for a WebSocket to find its end, as for old workers of ingress-nginx (`worker-shutdown-timeout`). */
const DRAIN_TIME_S = 240;

/** As many for each worker as ingress-nginx takes by default (`max-worker-connections`). */
const CONNECTIONS_PER_WORKER = 16_384;

/**
 * Runs the control plane and Envoy as children until a signal (SIGINT, SIGTERM, SIGHUP) asks for the end. Each is restarted
 * when it dies, neither takes the other along, and none outlives this process, whatever ends it.
 *
 * Resolves with the exit code: 0 after a drain, 1 if a port cannot be had, 2 if the control plane cannot work with its
 * configuration, 128 + N if a second signal, of number N, cut the drain short.
 */
export async function runParent(options: ParentOptions): Promise<number> {
  const faults = await findPortFaults(options.ports);
  for (const message of faults) options.onLog({ level: 'error', source: 'parent', message });
  if (faults.length > 0) return 1;
  const requests = watchEndRequests();
  outliveTerminal();
  const paths = await createRuntimeFolder(options.runtimeDir ?? tmpdir());
  try {
    return await runTree(options, paths, requests);
  } finally {
    await removeRuntimeFolder(paths);
    requests.close();
  }
}

async function runTree(options: ParentOptions, paths: RuntimePaths, requests: EndRequests): Promise<number> {
  const { bootstrap = defaultBootstrap, ...given } = options.envoy;
  const envoy = { concurrency: availableParallelism(), drainTimeS: DRAIN_TIME_S, logLevel: 'warning', ...given };
  await writeFile(paths.bootstrap, JSON.stringify(bootstrap(paths, envoy.concurrency)), { mode: 0o600 });
  const tree = createProcessTree({ paths, controlPlane: options.controlPlane, envoy, onLog: options.onLog });
  requests.second.addEventListener('abort', tree.kill);
  tree.start();
  const end = await Promise.race([requests.first, tree.failure]);
  if (typeof end === 'string') {
    options.onLog({ level: 'info', source: 'parent', message: 'Ending; a second signal ends at once' });
    tree.beginDraining();
    if (tree.envoyRuns()) await drain(options, paths, requests.second);
  }
  await tree.stop();
  if (typeof end === 'number') return end;
  return requests.second.aborted ? signalExitCode(requests.second.reason as NodeJS.Signals) : 0;
}

function defaultBootstrap(paths: RuntimePaths, concurrency: number): object {
  return buildBootstrap({
    node: { id: hostname(), cluster: 'ingress-xds' },
    xds: { kind: 'unix', path: paths.xdsSocket },
    adminSocket: paths.adminSocket,
    maxDownstreamConnections: CONNECTIONS_PER_WORKER * concurrency,
  });
}

async function drain(options: ParentOptions, paths: RuntimePaths, interrupt: AbortSignal): Promise<void> {
  const log = (level: LogLevel, message: string) => options.onLog({ level, source: 'parent', message });
  const outcome = await drainEnvoy({
    ...options.drain,
    admin: createAdmin({ socketPath: paths.adminSocket }),
    signal: interrupt,
    onWaiting: (connections) =>
      log('info', `Waiting for ${count(connections)}, at most ${options.drain.deadlineMs / 1_000} s`),
  });
  log(...describe(outcome));
}

function describe(outcome: DrainOutcome): [LogLevel, string] {
  switch (outcome.kind) {
    case 'drained':
      return ['info', 'Drained'];
    case 'deadline':
      return ['warn', `The time to drain is over: ${count(outcome.connections)} will be cut`];
    case 'aborted':
      return ['warn', 'The drain was cut short by a second signal'];
    case 'unavailable':
      return ['warn', 'Envoy did not answer, so it was not drained'];
  }
}

function count(connections: number): string {
  return connections === 1 ? '1 open connection' : `${connections} open connections`;
}
