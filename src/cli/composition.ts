import { createDebugServer } from '../console/debug.ts';
import { createHealthServer, type Readiness } from '../console/health.ts';
import { createMetrics } from '../console/metrics.ts';
import type { BuildOptions } from '../ingress/build.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { ObjectRef } from '../model/object-ref.ts';
import type { PublishOutcome } from '../nginx/publish.ts';
import type { XdsEvent } from '../xds/observer.ts';
import { connectCluster } from './cluster.ts';
import type { CreateDelivery } from './delivery.ts';
import { buildOptionsFrom, ConfigurationError, type ControlPlaneArguments } from './flags.ts';
import { createLogger, type Logger } from './logger.ts';
import { createLoop } from './loop.ts';
import { createManifestSource } from './manifest-source.ts';
import type { ReadinessWatch } from './readiness.ts';
import { createReporter, type Reporter } from './report.ts';
import type { SourceOptions } from './source.ts';
import { createStapling } from './stapling.ts';
import { describeReading, reportStart } from './start-report.ts';
import { followToday } from './today.ts';
import { version } from './version.ts';
import { createWebhook } from './webhook.ts';

export interface ControlPlaneOptions {
  readonly args: ControlPlaneArguments;
  /** Whether this machine has IPv6. */
  readonly ipv6: boolean;
  readonly generatedCertificate: NonNullable<BuildOptions['generatedCertificate']>;
  readonly delivery: CreateDelivery;
  /** What is delivered to. */
  readonly proxy: BuildOptions['proxy'];
  /** Why that cannot pass TLS through; absent where it can. */
  readonly noPassthrough?: string;
  /** Unix socket for inspection; absent: none. */
  readonly debugSocket?: string;
  readonly readiness: ReadinessWatch;
  /** Aborted when the end begins: health checks fail from then on, everything else goes on. */
  readonly ending: AbortSignal;
}

/** A whole control plane: source, build, emit, delivery, health checks and metrics, log. */
export interface ControlPlane {
  readonly logger: Logger;
  readonly reporter: Reporter;
  /**
   * Reads everything, commits it, and only then listens; health is answered meanwhile. Resolves with the addresses that were
   * really bound: none if the end came first.
   * @throws ConfigurationError when something that the flags name cannot be used; XdsAddressError likewise.
   */
  start(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** Composes everything before anything runs. */
export async function createControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { args, ipv6, readiness, ending } = options;
  const logger = createLogger(args);
  const cluster = args.manifests.length === 0 ? await connectCluster(args, logger) : undefined;
  let wasReady = false;
  let hasRead = false;
  let stopToday = () => {};
  let stopping = false;
  let dutiesStopped: Promise<void> | undefined;

  const reloaded = (outcome: PublishOutcome) => {
    metrics.reloaded(outcome);
    duties?.reloaded(outcome);
  };
  const observe = (event: XdsEvent) => {
    metrics.observe(event);
    readiness.observe(event);
    if (!ending.aborted) duties?.observe(event);
    // That streams end when this process does is no news.
    if (!stopping) reporter.observe(event);
  };
  const buildOptions = {
    ...buildOptionsFrom(args, options.proxy),
    ...(cluster?.zone !== undefined && { zone: cluster.zone }),
    ...(options.noPassthrough !== undefined && { noPassthrough: options.noPassthrough }),
    generatedCertificate: options.generatedCertificate,
  };
  const { engine, state, build, publisher, controller } = createLoop({
    build: buildOptions,
    publisher: (engine, model) => options.delivery({ engine, model, ipv6, logger, observe, reloaded }),
    onSettled: (settled) => {
      metrics.passed(settled.durationMs, settled.commit?.seq);
      reporter.settled(settled);
      stapling.settled(settled.pass);
      if (!ending.aborted) duties?.settled(settled, publisher.seq);
    },
  });
  const stapling = createStapling({ state, model: build.model, onChange: () => controller.notify(false) });
  const sourceOptions: SourceOptions = {
    state,
    onApplied: (urgent) => controller.notify(urgent),
    onDiagnostics: (change) => {
      reporter.diagnosed(change);
      if (!ending.aborted) duties?.diagnosed(change);
    },
    onError: (error) => logger.error(error, 'the folder of manifests could not be followed'),
  };
  const clusterSource = cluster?.source({ ...sourceOptions, observe: (event) => metrics.followed(event) });
  const source = clusterSource ?? createManifestSource(args, sourceOptions);
  const duties = cluster?.duties({ state, build });
  const reporter = createReporter({
    logger,
    model: build.model,
    ...(source.locate && { locate: source.locate }),
  });
  const metrics = createMetrics({
    controller: {
      namespace: process.env['POD_NAMESPACE'] ?? '',
      pod: process.env['POD_NAME'] ?? '',
      class: args.controllerClass,
    },
    version: version(),
    ...(duties && { leader: { name: args.electionId, leading: () => duties.leading } }),
    tables: () => engine.counters(),
    objectTables: state.objectTables,
    encodes: () => publisher.counters(),
    held: () => countByKind(build.held()),
    diagnostics: () => countBySeverity([...controller.currentDiagnostics(), ...source.diagnostics()]),
  });
  const webhook = createWebhook(args, {
    engine,
    state,
    build,
    buildOptions,
    ipv6,
    logger,
    watches: (namespace) => clusterSource?.watches(namespace) ?? true,
    synced: () => publisher.seq > 0,
    onReviewed: (review) => metrics.reviewed(review),
  });
  const health = createHealthServer({
    host: args.healthzHost ?? (ipv6 ? '::' : '0.0.0.0'),
    port: args.healthzPort,
    healthCheckPath: args.healthCheckPath,
    requestTimeoutMs: args.healthCheckTimeout * 1_000,
    healthy: () => wasReady && !ending.aborted,
    ready: currentReadiness,
    metrics: metrics.render,
  });
  const { debugSocket } = options;
  const { inspection } = publisher;
  const debug =
    debugSocket === undefined || inspection === undefined ? undefined : createDebugServer(debugSocket, inspection);
  void readiness.ready.then(() => {
    wasReady = true;
  });

  // Another replica leads from now on: the proxy may take minutes to drain.
  const stopDuties = () => {
    dutiesStopped ??= duties?.stop();
    return dutiesStopped;
  };
  ending.addEventListener('abort', () => void stopDuties(), { once: true });

  function currentReadiness(): Readiness {
    if (ending.aborted) return { ready: false, reason: 'ending' };
    return hasRead ? readiness.current : { ready: false, reason: describeReading(source.diagnostics()) };
  }

  return {
    logger,
    reporter,
    start: async () => {
      await configured(health.listen(), '--healthz-port');
      if (debug) await configured(debug.listen(), '--debug-socket');
      if (webhook) await configured(webhook.listen(), '--validating-webhook');
      reportStart({ current: currentReadiness, tell: (message) => logger.warn(message), signal: ending });
      const read = cluster ? source.start() : configured(source.start(), '--manifests');
      await read.catch((error: unknown) => {
        if (!stopping) throw error;
      });
      if (stopping) return [];
      hasRead = true;
      stopToday = followToday(state, () => controller.notify(false));
      duties?.start();
      await controller.start();
      if (stopping) return [];
      return await publisher.start();
    },
    stop: async () => {
      stopping = true;
      stopToday();
      stapling.stop();
      controller.stop();
      await source.stop();
      await webhook?.close();
      await stopDuties();
      await publisher.stop();
      await health.close();
      await debug?.close();
    },
  };
}

function countByKind(refs: readonly ObjectRef[]): Record<string, number> {
  const counts: Record<string, number> = { Ingress: 0, Secret: 0 };
  for (const { kind } of refs) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

function countBySeverity(diagnostics: readonly Diagnostic[]): Record<Diagnostic['severity'], number> {
  const counts = { error: 0, warning: 0, info: 0 };
  for (const { severity } of diagnostics) counts[severity]++;
  return counts;
}

/** What fails here fails again after a restart, so it ends the process for good. */
async function configured<T>(step: Promise<T>, flag: string): Promise<T> {
  try {
    return await step;
  } catch (error) {
    throw new ConfigurationError(`${flag}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
