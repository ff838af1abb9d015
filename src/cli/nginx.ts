import { findNginx, NginxNotFoundError } from '../nginx/binary.ts';
import { ConfigurationError, checkNginxArguments, type NginxArguments, servesCluster } from './flags.ts';
import { createLogger } from './logger.ts';
import { mainModule } from './main-module.ts';
import { nginxProxy } from './nginx-proxy.ts';
import { runParent } from './parent.ts';
import { CLUSTER_STOP_MS, drainSettings, postGraceMs } from './shutdown.ts';

/** The command `nginx`: the parent of control plane and nginx, which gets the same flags. Resolves with the exit code. */
export async function nginx(args: NginxArguments, flags: readonly string[]): Promise<number> {
  checkNginxArguments(args);
  const logger = createLogger(args);
  const found = await findNginx(args.nginxPath).catch((error: unknown) => {
    throw error instanceof NginxNotFoundError ? new ConfigurationError(error.message) : error;
  });
  for (const warning of found.warnings) logger.warn(warning);
  if (!found.hasLua) {
    logger.warn(`nginx ${found.version} cannot run Lua: endpoints and certificates change by a reload, too`);
  }
  return await runParent({
    proxy: nginxProxy({ path: found.path, ...drainSettings(args) }),
    controlPlane: {
      modulePath: mainModule(),
      args: ['nginx-control-plane', ...flags],
      ...(servesCluster(args) && { stopMs: CLUSTER_STOP_MS }),
    },
    ports: [
      { port: args.httpPort, flag: '--http-port' },
      { port: args.httpsPort, flag: '--https-port' },
    ],
    postGraceMs: postGraceMs(args),
    onLog: ({ level, source, message }) => logger[level](source === 'parent' ? message : `${source}: ${message}`),
  });
}
