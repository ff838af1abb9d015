import { type ChildProcess, fork, spawn } from 'node:child_process';
import { envoyArguments, type LogLevel, parseLogLine } from '../envoy/command-line.ts';
import { createGuard, type Guard } from '../process/guard.ts';
import { type ChildEnd, createSupervisor, type SupervisorOptions } from '../process/supervisor.ts';
import { EXIT_CONFIGURATION, isListening, type ParentMessage, RUNTIME_FOLDER_VARIABLE } from './ipc.ts';
import type { RuntimePaths } from './runtime-folder.ts';

export interface LogEntry {
  readonly level: LogLevel;
  readonly source: 'parent' | 'envoy';
  readonly message: string;
}

export interface EnvoyProcess {
  readonly path: string;
  /** Worker threads. */
  readonly concurrency: number;
  /** How long connections of changed filter chains live on, in seconds. */
  readonly drainTimeS: number;
  /** Envoy's own level: `warning`, `info`, … */
  readonly logLevel: string;
}

export interface ControlPlaneProcess {
  /** A script that calls `connectToParent`. Its output goes where that of this process goes. */
  readonly modulePath: string;
  readonly args: readonly string[];
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface ProcessTreeOptions {
  readonly paths: RuntimePaths;
  readonly controlPlane: ControlPlaneProcess;
  readonly envoy: EnvoyProcess;
  readonly onLog: (entry: LogEntry) => void;
}

/** The two children of the parent, and the guard that ends them should the parent die. */
export interface ProcessTree {
  /** Resolves with an exit code when the control plane cannot work with its configuration; the tree is then to be stopped. */
  readonly failure: Promise<number>;
  /** Starts the control plane; Envoy follows when the control plane listens. */
  start(): void;
  envoyRuns(): boolean;
  /** The control plane fails its health checks from now on, and Envoy lives its last life. */
  beginDraining(): void;
  /** Envoy ends first, then the control plane, each killed if it does not within a few seconds. */
  stop(): Promise<void>;
  /** Ends both children at once. */
  kill(): void;
}

const ENVOY_KILL_AFTER_MS = 5_000;
const CONTROL_PLANE_SIGNAL_AFTER_MS = 2_000;
const CONTROL_PLANE_KILL_AFTER_MS = 5_000;

export function createProcessTree(options: ProcessTreeOptions): ProcessTree {
  const { onLog } = options;
  const failure = Promise.withResolvers<number>();
  const guard = createGuard();
  let hasListened = false;
  let isDraining = false;

  const envoy = createSupervisor({
    spawn: () => spawnEnvoy(options),
    onLine: (line) => onLog({ source: 'envoy', ...parseLogLine(line) }),
    ...watchedBy(guard, (end, restartInMs) => report(onLog, 'Envoy', end, restartInMs)),
  });

  const controlPlane = createSupervisor({
    spawn: () => connect(forkControlPlane(options)),
    ...watchedBy(guard, (end, restartInMs) => {
      if (end.code === EXIT_CONFIGURATION && !hasListened) {
        controlPlane.disableRestart();
        failure.resolve(EXIT_CONFIGURATION);
      } else {
        report(onLog, 'The control plane', end, restartInMs);
      }
    }),
  });

  function connect(child: ChildProcess): ChildProcess {
    child.on('message', (message) => {
      if (!isListening(message) || isDraining) return;
      hasListened = true;
      envoy.start();
    });
    // One that is started again while the tree drains must know it, too.
    if (isDraining) send(child, { type: 'draining' });
    return child;
  }

  return {
    failure: failure.promise,
    start: () => {
      guard.start();
      controlPlane.start();
    },
    envoyRuns: () => envoy.child() !== undefined,
    beginDraining: () => {
      isDraining = true;
      envoy.disableRestart();
      send(controlPlane.child(), { type: 'draining' });
    },
    stop: async () => {
      isDraining = true;
      await envoy.stop({ killAfterMs: ENVOY_KILL_AFTER_MS });
      controlPlane.disableRestart();
      send(controlPlane.child(), { type: 'stop' });
      await controlPlane.stop({
        signalAfterMs: CONTROL_PLANE_SIGNAL_AFTER_MS,
        killAfterMs: CONTROL_PLANE_KILL_AFTER_MS,
      });
      await guard.stop();
    },
    kill: () => {
      envoy.kill();
      controlPlane.kill();
    },
  };
}

/** Reports each life of a child to the guard. */
function watchedBy(
  guard: Guard,
  onExit: NonNullable<SupervisorOptions['onExit']>,
): Pick<SupervisorOptions, 'onStart' | 'onExit'> {
  let watched: number | undefined;
  return {
    onStart: (child) => {
      watched = child.pid;
      if (watched !== undefined) guard.watch(watched);
    },
    onExit: (end, restartInMs) => {
      if (watched !== undefined) guard.forget(watched);
      watched = undefined;
      onExit(end, restartInMs);
    },
  };
}

/** Both children have sessions of their own: a Ctrl-C at the terminal reaches the parent alone, which ends them in order. */
function spawnEnvoy({ envoy, paths }: ProcessTreeOptions): ChildProcess {
  const args = envoyArguments({ ...envoy, bootstrapPath: paths.bootstrap });
  // Access logs go to stdout, at rates that this process should not have to copy; Envoy's own log goes to stderr.
  return spawn(envoy.path, args, { detached: true, stdio: ['ignore', 'inherit', 'pipe'] });
}

function forkControlPlane({ controlPlane, paths }: ProcessTreeOptions): ChildProcess {
  return fork(controlPlane.modulePath, controlPlane.args, {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...controlPlane.env, [RUNTIME_FOLDER_VARIABLE]: paths.folder },
  });
}

/** A message to a child that has just ended is lost. */
function send(child: ChildProcess | undefined, message: ParentMessage): void {
  if (child?.connected) child.send(message, () => {});
}

/** An end without a restart was wanted, or is told by the drain that it cuts short. */
function report(
  onLog: ProcessTreeOptions['onLog'],
  name: string,
  end: ChildEnd,
  restartInMs: number | undefined,
): void {
  if (restartInMs === undefined) return;
  const message = `${name} ${describe(end)}; it starts again in ${restartInMs} ms`;
  onLog({ level: 'error', source: 'parent', message });
}

function describe({ code, signal, error }: ChildEnd): string {
  if (error !== undefined) return `could not be started (${error.message})`;
  return signal === undefined ? `ended with code ${code}` : `was ended by ${signal}`;
}
