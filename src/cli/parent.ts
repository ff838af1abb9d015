import { tmpdir } from 'node:os';
import type { LogLevel } from '../envoy/command-line.ts';
import { findPortFaults, type ProxyPort } from './port-check.ts';
import { type ControlPlaneProcess, createProcessTree, type LogEntry, type ProxyProcess } from './process-tree.ts';
import { createRuntimeFolder, type RuntimePaths, removeRuntimeFolder } from './runtime-folder.ts';
import { type EndRequests, outliveTerminal, pauseUntilSignal, signalExitCode, watchEndRequests } from './signals.ts';

/** A proxy that this process runs beside its control plane. */
export interface ParentProxy {
  /** Prepares the runtime folder, before anything starts. */
  prepare(paths: RuntimePaths): Promise<ProxyProcess>;
  /** Lets requests in flight come to their end. Resolves with what came of it, for the log. */
  drain(options: DrainOptions): Promise<DrainReport>;
}

export interface DrainOptions {
  readonly paths: RuntimePaths;
  /** Aborted by a second signal: the drain ends at once. */
  readonly interrupt: AbortSignal;
  readonly log: (level: LogLevel, message: string) => void;
}

export type DrainReport = readonly [level: LogLevel, message: string];

export interface ParentOptions {
  readonly proxy: ParentProxy;
  readonly controlPlane: ControlPlaneProcess;
  /** Ports that the proxy will listen on, checked before anything starts. */
  readonly ports: readonly ProxyPort[];
  /** How long to wait after an orderly end, when nothing is left; a signal ends the wait. Default: 0. */
  readonly postGraceMs?: number;
  /** Where the folder of this process tree is made; default: the system's folder for temporary files. */
  readonly runtimeDir?: string;
  readonly onLog: (entry: LogEntry) => void;
}

/**
 * Runs the control plane and a proxy as children until a signal (SIGINT, SIGTERM, SIGHUP) asks for the end. Each is restarted
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
    const code = await runTree(options, paths, requests);
    await removeRuntimeFolder(paths);
    // Whoever waits for the folder to go (`wait-shutdown`) would otherwise be ended together with its container.
    if (code === 0) await pauseUntilSignal(options.postGraceMs ?? 0);
    return code;
  } finally {
    await removeRuntimeFolder(paths);
    requests.close();
  }
}

async function runTree(options: ParentOptions, paths: RuntimePaths, requests: EndRequests): Promise<number> {
  const { controlPlane, onLog } = options;
  const proxy = await options.proxy.prepare(paths);
  const tree = createProcessTree({ paths, controlPlane, proxy, onLog });
  requests.second.addEventListener('abort', tree.kill);
  tree.start();
  const end = await Promise.race([requests.first, tree.failure]);
  if (typeof end === 'string') {
    options.onLog({ level: 'info', source: 'parent', message: 'Ending; a second signal ends at once' });
    tree.beginDraining();
    if (tree.proxyRuns()) await drain(options, paths, requests.second);
  }
  await tree.stop();
  if (typeof end === 'number') return end;
  return requests.second.aborted ? signalExitCode(requests.second.reason as NodeJS.Signals) : 0;
}

async function drain({ proxy, onLog }: ParentOptions, paths: RuntimePaths, interrupt: AbortSignal): Promise<void> {
  const log = (level: LogLevel, message: string) => onLog({ level, source: 'parent', message });
  log(...(await proxy.drain({ paths, interrupt, log })));
}
