import { fileURLToPath } from 'node:url';
import { findEnvoy } from '../envoy/binary.ts';
import type { DrainSettings } from '../envoy/drain.ts';
import { envoyProxy, TERMINAL_DRAIN } from './envoy-proxy.ts';
import { checkRunArguments, type RunArguments, servesCluster } from './flags.ts';
import { createLogger, type Logger } from './logger.ts';
import { runParent } from './parent.ts';
import type { LogEntry } from './process-tree.ts';

/** As long as ingress-nginx lets its old workers live (`worker-shutdown-timeout`). */
const DRAIN_TIMEOUT_S = 240;
/** As long as ingress-nginx waits for its pod to be removed. */
const POST_GRACE_S = 10;
/** The last replica takes back the addresses of all Ingresses, with an API server that may be slow. */
const CLUSTER_STOP_MS = 15_000;

/** The command `run`: the parent of control plane and Envoy, which gets the same flags. Resolves with the exit code. */
export async function run(args: RunArguments, flags: readonly string[]): Promise<number> {
  checkRunArguments(args);
  const logger = createLogger(args);
  const envoy = await findEnvoy({
    ...(args.envoyPath !== undefined && { path: args.envoyPath }),
    onProgress: (line) => logger.info(line),
  });
  logger.debug(`Envoy ${envoy.version} from ${envoy.path}`);
  return await runParent({
    proxy: envoyProxy({
      path: envoy.path,
      drain: drainSettings(args),
      ...(args.envoyConcurrency !== undefined && { concurrency: args.envoyConcurrency }),
    }),
    controlPlane: {
      modulePath: mainModule(),
      args: ['control-plane', ...flags],
      ...(servesCluster(args) && { stopMs: CLUSTER_STOP_MS }),
    },
    ports: [
      { port: args.httpPort, flag: '--http-port' },
      { port: args.httpsPort, flag: '--https-port' },
    ],
    postGraceMs: postGraceMs(args),
    onLog: (entry) => logEntry(logger, entry),
  });
}

/** In a pod a preStop hook may have asked for the end; on a terminal nobody wants to wait. */
function postGraceMs(args: RunArguments): number {
  const seconds = args.postShutdownGracePeriod ?? (servesCluster(args) && !onTerminal() ? POST_GRACE_S : 0);
  return seconds * 1_000;
}

function onTerminal(): boolean {
  return process.stdin.isTTY === true;
}

function drainSettings(args: RunArguments): DrainSettings {
  const base = onTerminal() ? TERMINAL_DRAIN : { gracePeriodMs: 0, deadlineMs: DRAIN_TIMEOUT_S * 1000 };
  return {
    ...base,
    ...(args.shutdownGracePeriod > 0 && { gracePeriodMs: args.shutdownGracePeriod * 1000 }),
    ...(args.drainTimeout !== undefined && { deadlineMs: args.drainTimeout * 1000 }),
  };
}

function logEntry(logger: Logger, { level, source, message }: LogEntry): void {
  logger[level](source === 'parent' ? message : `${source}: ${message}`);
}

/** The module that the control plane starts with: this command line, as source or as built. */
function mainModule(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`./main.${extension}`, import.meta.url));
}
