import { closeSync, openSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { findNginx } from '../nginx/binary.ts';
import { passthroughProblem } from '../nginx/passthrough.ts';
import type { PublishOutcome } from '../nginx/publish.ts';
import { TemplateError } from '../nginx/template.ts';
import { liveUntilStopped } from './child-life.ts';
import { createControlPlane } from './composition.ts';
import { ConfigurationError, checkNginxArguments, type NginxArguments } from './flags.ts';
import { keptCertificate } from './generated-certificate.ts';
import { connectToParent } from './ipc.ts';
import { hasIpv6 } from './ipv6.ts';
import { createLogger, type Logger } from './logger.ts';
import { nginxDelivery } from './nginx-delivery.ts';
import { nginxFolder } from './nginx-proxy.ts';
import { NginxReadiness } from './nginx-readiness.ts';
import { watchTemplate } from './nginx-template.ts';

/** The control plane of a process tree with nginx: a child of `nginx`, which says when to end. Resolves with the exit code. */
export async function runNginxControlPlane(args: NginxArguments): Promise<number> {
  checkNginxArguments(args);
  const stopped = Promise.withResolvers<void>();
  const ending = new AbortController();
  const readiness = new NginxReadiness([args.httpPort, args.httpsPort]);
  const parent = connectToParent({
    onProxyStarted: () => void delivery.proxyStarted().then(() => readiness.proxyStarted()),
    onDraining: () => ending.abort(),
    onStop: stopped.resolve,
  });
  if (parent === undefined) throw new Error('nginx-control-plane is a part of ingress-xds nginx, which starts it');
  const logger = createLogger(args);
  const template = await watchTemplate(args.nginxTemplate, {
    onChange: () => {
      logger.info(`the template ${args.nginxTemplate} has changed`);
      delivery.refresh();
    },
    onFault: (message) => logger.error(`the template is kept as it was: ${message}`),
  }).catch((error: unknown) => {
    throw error instanceof TemplateError ? new ConfigurationError(`--nginx-template: ${error.message}`) : error;
  });
  const accessLog = args.accessLog ? accessLogFile(logger) : undefined;
  const maxOpenFiles = openFilesPerWorker(args.nginxWorkerProcesses ?? availableParallelism());
  const nginx = await findNginx(args.nginxPath);
  const noPassthrough = passthroughProblem(nginx);
  const delivery = nginxDelivery({
    nginx,
    folder: nginxFolder(parent.paths),
    template: template.current,
    ...(accessLog !== undefined && { accessLog }),
    ...(args.nginxWorkerProcesses !== undefined && { workerProcesses: args.nginxWorkerProcesses }),
    ...(maxOpenFiles !== undefined && { maxOpenFiles }),
    retries: args.dynamicConfigurationRetries,
    minIntervalMs: args.syncRateLimit > 0 ? 1_000 / args.syncRateLimit : 0,
    onOutcome: (outcome) => report(logger, outcome),
  });
  const controlPlane = await createControlPlane({
    proxy: 'nginx',
    ...(noPassthrough !== undefined && { noPassthrough }),
    args,
    ipv6: await hasIpv6(),
    generatedCertificate: await keptCertificate(parent.paths.folder),
    delivery: delivery.create,
    readiness,
    ending: ending.signal,
  });
  await liveUntilStopped(controlPlane, { parent, readiness, stopped: stopped.promise, ports: args });
  template.stop();
  parent.close();
  return 0;
}

function report(logger: Logger, outcome: PublishOutcome): void {
  if (outcome.kind === 'loaded') {
    logger.info(`nginx has loaded configuration ${outcome.hash} (${outcome.durationMs.toFixed(0)} ms)`);
  } else if (outcome.kind === 'failed') {
    const next = `another try in ${outcome.retryInMs / 1_000} s`;
    logger.error(`the last good configuration stays in force, ${outcome.step} failed: ${outcome.reason}; ${next}`);
  }
}

/** Where log lines go: to our own standard output, unless that is nothing that nginx could open. */
function accessLogFile(logger: Logger): string | undefined {
  const file = '/dev/stdout';
  try {
    closeSync(openSync(file, 'a'));
    return file;
  } catch (error) {
    logger.warn(`no access log: nginx cannot open ${file} (${(error as Error).message})`);
    return undefined;
  }
}

/** As ingress-nginx: its share of what the system allows, with some left for other uses. */
function openFilesPerWorker(workers: number): number | undefined {
  const [, hard = ''] = /^Max open files\s+\S+\s+(\S+)/m.exec(readLimits()) ?? [];
  const limit = Number(hard);
  if (!Number.isFinite(limit) || limit <= 0) return undefined;
  const share = Math.floor(limit / workers) - 1024;
  return Math.max(share, 1024);
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}
