import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { availableParallelism, hostname } from 'node:os';
import { createAdmin } from '../envoy/admin.ts';
import { buildBootstrap } from '../envoy/bootstrap.ts';
import { envoyArguments, parseLogLine } from '../envoy/command-line.ts';
import { type DrainOutcome, type DrainSettings, drainEnvoy } from '../envoy/drain.ts';
import type { DrainReport, ParentProxy } from './parent.ts';
import type { RuntimePaths } from './runtime-folder.ts';

export interface EnvoyProxyOptions {
  readonly path: string;
  readonly drain: DrainSettings;
  /** Worker threads. Default: one for each processor. */
  readonly concurrency?: number;
  /** Default: a bootstrap that connects to the control plane of this process tree. */
  readonly bootstrap?: (paths: RuntimePaths, concurrency: number) => object;
}

/** What somebody at a terminal wants: requests in flight are answered, then the prompt. */
export const TERMINAL_DRAIN: DrainSettings = { gracePeriodMs: 0, deadlineMs: 5_000, quietMs: 500 };

/** How long connections of changed filter chains live on: as old workers of ingress-nginx (`worker-shutdown-timeout`). */
const DRAIN_TIME_S = 240;

/** As many for each worker as ingress-nginx takes by default (`max-worker-connections`). */
const CONNECTIONS_PER_WORKER = 16_384;

const KILL_AFTER_MS = 5_000;

/** Envoy as the proxy of a process tree. */
export function envoyProxy(options: EnvoyProxyOptions): ParentProxy {
  const { path, concurrency = availableParallelism(), bootstrap = defaultBootstrap } = options;
  return {
    prepare: async (paths) => {
      await writeFile(paths.bootstrap, JSON.stringify(bootstrap(paths, concurrency)), { mode: 0o600 });
      const args = envoyArguments({
        bootstrapPath: paths.bootstrap,
        concurrency,
        drainTimeS: DRAIN_TIME_S,
        logLevel: 'warning',
      });
      return {
        name: 'envoy',
        title: 'Envoy',
        // Access logs go to stdout, at rates that this process should not have to copy; Envoy's own log goes to stderr.
        spawn: () => spawn(path, args, { detached: true, stdio: ['ignore', 'inherit', 'pipe'] }),
        parseLogLine,
        stop: { killAfterMs: KILL_AFTER_MS },
      };
    },
    drain: async ({ paths, interrupt, log }) => {
      const outcome = await drainEnvoy({
        ...options.drain,
        admin: createAdmin({ socketPath: paths.adminSocket }),
        signal: interrupt,
        onWaiting: (connections) =>
          log('info', `Waiting for ${count(connections)}, at most ${options.drain.deadlineMs / 1_000} s`),
      });
      return describe(outcome);
    },
  };
}

function defaultBootstrap(paths: RuntimePaths, concurrency: number): object {
  return buildBootstrap({
    node: { id: hostname(), cluster: 'ingress-xds' },
    xds: { kind: 'unix', path: paths.xdsSocket },
    adminSocket: paths.adminSocket,
    maxDownstreamConnections: CONNECTIONS_PER_WORKER * concurrency,
  });
}

function describe(outcome: DrainOutcome): DrainReport {
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
