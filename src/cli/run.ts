import { findEnvoy } from '../envoy/binary.ts';
import { envoyProxy } from './envoy-proxy.ts';
import { checkRunArguments, type RunArguments, servesCluster } from './flags.ts';
import { createLogger, type Logger } from './logger.ts';
import { mainModule } from './main-module.ts';
import { runParent } from './parent.ts';
import type { LogEntry } from './process-tree.ts';
import { CLUSTER_STOP_MS, drainSettings, postGraceMs } from './shutdown.ts';

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
      ...(args.http3 ? ([{ port: args.httpsPort, flag: '--https-port', protocol: 'udp' }] as const) : []),
    ],
    postGraceMs: postGraceMs(args),
    onLog: (entry) => logEntry(logger, entry),
  });
}

function logEntry(logger: Logger, { level, source, message }: LogEntry): void {
  logger[level](source === 'parent' ? message : `${source}: ${message}`);
}
