import { type ChildProcess, fork } from 'node:child_process';
import type { LogLevel } from '../envoy/command-line.ts';
import { createGuard, type Guard } from '../process/guard.ts';
import { type ChildEnd, createSupervisor, type StopOptions, type SupervisorOptions } from '../process/supervisor.ts';
import { EXIT_CONFIGURATION, isListening, type ParentMessage, RUNTIME_FOLDER_VARIABLE } from './ipc.ts';
import type { RuntimePaths } from './runtime-folder.ts';

export interface LogEntry {
  readonly level: LogLevel;
  readonly source: 'parent' | ProxyName;
  readonly message: string;
}

export type ProxyName = 'envoy' | 'nginx';

/** The proxy as a child process. */
export interface ProxyProcess {
  readonly name: ProxyName;
  /** For people: `Envoy` */
  readonly title: string;
  readonly spawn: () => ChildProcess;
  /** What a line of its output says. */
  readonly parseLogLine: (line: string) => Pick<LogEntry, 'level' | 'message'>;
  /** Called with the process number of each life that has ended: for what may be left of it. No other follows the last one. */
  readonly onEnd?: (pid: number, isLast: boolean) => void;
  /** How it is told to end once it is drained. */
  readonly stop: StopOptions;
}

export interface ControlPlaneProcess {
  /** A script that calls `connectToParent`. Its output goes where that of this process goes. */
  readonly modulePath: string;
  readonly args: readonly string[];
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** How long it may take to end when it is asked to, in milliseconds; default: 2,000. */
  readonly stopMs?: number;
}

export interface ProcessTreeOptions {
  readonly paths: RuntimePaths;
  readonly controlPlane: ControlPlaneProcess;
  readonly proxy: ProxyProcess;
  readonly onLog: (entry: LogEntry) => void;
}

/** The two children of the parent, and the guard that ends them should the parent die. */
export interface ProcessTree {
  /** Resolves with an exit code when the control plane cannot work with its configuration; the tree is then to be stopped. */
  readonly failure: Promise<number>;
  /** Starts the control plane; the proxy follows when the control plane listens. */
  start(): void;
  proxyRuns(): boolean;
  /** The control plane fails its health checks from now on, and the proxy lives its last life. */
  beginDraining(): void;
  /** The proxy ends first, then the control plane, each killed if it does not within a few seconds. */
  stop(): Promise<void>;
  /** Ends both children at once. */
  kill(): void;
}

const GROUP_POLL_MS = 500;
const CONTROL_PLANE_STOP_MS = 2_000;
/** From SIGTERM to SIGKILL, for a control plane that has not ended in time. */
const CONTROL_PLANE_SIGNAL_MS = 3_000;

export function createProcessTree(options: ProcessTreeOptions): ProcessTree {
  const { onLog, proxy: kind } = options;
  const failure = Promise.withResolvers<number>();
  const guard = createGuard();
  let hasListened = false;
  let isDraining = false;

  const proxy = createSupervisor({
    spawn: kind.spawn,
    onLine: (line) => onLog({ source: kind.name, ...kind.parseLogLine(line) }),
    ...watchedBy(guard, (end, restartInMs) => report(onLog, kind.title, end, restartInMs), {
      onStart: () => send(controlPlane.child(), { type: 'proxyStarted' }),
      onEnd: (pid) => kind.onEnd?.(pid, isDraining),
    }),
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
      // A control plane that is started again has to learn of a proxy that runs.
      if (proxy.child() !== undefined) send(child, { type: 'proxyStarted' });
      proxy.start();
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
    proxyRuns: () => proxy.child() !== undefined,
    beginDraining: () => {
      isDraining = true;
      proxy.disableRestart();
      send(controlPlane.child(), { type: 'draining' });
    },
    stop: async () => {
      isDraining = true;
      await proxy.stop(kind.stop);
      controlPlane.disableRestart();
      send(controlPlane.child(), { type: 'stop' });
      const { stopMs = CONTROL_PLANE_STOP_MS } = options.controlPlane;
      await controlPlane.stop({ signalAfterMs: stopMs, killAfterMs: stopMs + CONTROL_PLANE_SIGNAL_MS });
      await guard.stop();
    },
    kill: () => {
      isDraining = true;
      proxy.kill();
      controlPlane.kill();
    },
  };
}

/** Reports each life of a child to the guard. */
function watchedBy(
  guard: Guard,
  onExit: NonNullable<SupervisorOptions['onExit']>,
  {
    onStart = () => {},
    onEnd = () => {},
  }: { readonly onStart?: () => void; readonly onEnd?: (pid: number) => void } = {},
): Pick<SupervisorOptions, 'onStart' | 'onExit'> {
  let watched: number | undefined;
  return {
    onStart: (child) => {
      watched = child.pid;
      if (watched !== undefined) guard.watch(watched);
      onStart();
    },
    onExit: (end, restartInMs) => {
      if (watched !== undefined) {
        onEnd(watched);
        forgetGroup(guard, watched);
      }
      watched = undefined;
      onExit(end, restartInMs);
    },
  };
}

/** What a process leaves of its group has to end with this process, too. */
function forgetGroup(guard: Guard, leader: number): void {
  try {
    process.kill(-leader, 0);
    setTimeout(() => forgetGroup(guard, leader), GROUP_POLL_MS).unref();
  } catch {
    guard.forget(leader);
  }
}

/** It has a session of its own: a Ctrl-C at the terminal reaches the parent alone, which ends its children in order. */
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
