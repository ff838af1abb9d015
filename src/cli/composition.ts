import { createDebugServer } from '../console/debug.ts';
import { createHealthServer } from '../console/health.ts';
import { createMetrics } from '../console/metrics.ts';
import { readDescriptorSet } from '../envoy/schema.ts';
import type { BuildOptions } from '../ingress/build.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { ObjectRef } from '../model/object-ref.ts';
import type { XdsEvent } from '../xds/observer.ts';
import { createXdsServer, type MutualTlsOptions } from '../xds/server.ts';
import { buildOptionsFrom, ConfigurationError, type ControlPlaneArguments } from './flags.ts';
import { createInspection } from './inspection.ts';
import { createLogger, type Logger } from './logger.ts';
import { createManifestSource } from './manifest-source.ts';
import { createPipeline } from './pipeline.ts';
import type { ReadinessWatch } from './readiness.ts';
import { createReporter, type Reporter } from './report.ts';
import { followToday } from './today.ts';

export interface ControlPlaneOptions {
  readonly args: ControlPlaneArguments;
  /** Whether this machine has IPv6. */
  readonly ipv6: boolean;
  readonly generatedCertificate: BuildOptions['generatedCertificate'];
  /** Where Envoys connect to, as `XdsServer.listen` takes it. */
  readonly xdsAddresses: readonly string[];
  /** Unix socket for inspection; absent: none. */
  readonly debugSocket?: string;
  /** Default: false. */
  readonly secretsOverTcp?: boolean;
  /** For TCP; absent: loopback only. */
  readonly mutualTls?: MutualTlsOptions;
  readonly readiness: ReadinessWatch;
  /** Aborted when the end begins: health checks fail from then on, everything else goes on. */
  readonly ending: AbortSignal;
}

/** A whole control plane: source, build, emit, xDS server, health checks and metrics, log. */
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

/** How long streams may finish what is under way when this process ends, in milliseconds. */
const CLOSE_GRACE_MS = 500;

/** Composes everything before anything runs. */
export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const { args, ipv6, readiness, ending } = options;
  let wasReady = false;
  let stopToday = () => {};
  let stopping = false;

  const observe = (event: XdsEvent) => {
    metrics.observe(event);
    readiness.observe(event);
    // That streams end when this process does is no news.
    if (!stopping) reporter.observe(event);
  };
  const pipeline = createPipeline({
    build: { ...buildOptionsFrom(args), generatedCertificate: options.generatedCertificate },
    emit: { ipv6, accessLog: args.accessLog, routeSharding: args.routeSharding },
    observe,
    onSettled: (settled) => {
      metrics.passed(settled.durationMs, settled.commit?.seq);
      reporter.settled(settled);
    },
  });
  const { engine, state, build, emitter, controller, store } = pipeline;
  const logger = createLogger(args);
  const source = createManifestSource(args, {
    state,
    onApplied: (urgent) => controller.notify(urgent),
    onDiagnostics: (change) => reporter.diagnosed(change),
    onError: (error) => logger.error(error, 'the folder of manifests could not be followed'),
  });
  const reporter = createReporter({ logger, model: build.model, locate: source.locate });
  const metrics = createMetrics({
    tables: () => engine.counters(),
    objectTables: state.objectTables,
    encodes: () => emitter.counters(),
    held: () => countByKind(build.held()),
    diagnostics: () => countBySeverity([...controller.currentDiagnostics(), ...source.diagnostics()]),
  });
  const server = createXdsServer({
    store,
    observe,
    secretsOverTcp: options.secretsOverTcp ?? false,
    ...(options.mutualTls && { mutualTls: options.mutualTls }),
    descriptors: readDescriptorSet,
  });
  const health = createHealthServer({
    host: args.healthzHost ?? (ipv6 ? '::' : '0.0.0.0'),
    port: args.healthzPort,
    healthCheckPath: args.healthCheckPath,
    healthy: () => wasReady && !ending.aborted,
    ready: () => (ending.aborted ? { ready: false, reason: 'ending' } : readiness.current),
    metrics: metrics.render,
  });
  const { debugSocket } = options;
  const debug = debugSocket === undefined ? undefined : createDebugServer(debugSocket, createInspection(store, server));
  void readiness.ready.then(() => {
    wasReady = true;
  });

  return {
    logger,
    reporter,
    start: async () => {
      await configured(health.listen(), '--healthz-port');
      if (debug) await configured(debug.listen(), '--debug-socket');
      await configured(source.start(), '--manifests');
      stopToday = followToday(state, () => controller.notify(false));
      await controller.start();
      if (stopping) return [];
      const bound: string[] = [];
      for (const address of options.xdsAddresses) bound.push(await server.listen(address));
      return bound;
    },
    stop: async () => {
      stopping = true;
      stopToday();
      controller.stop();
      await source.stop();
      await server.close({ graceMs: CLOSE_GRACE_MS });
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
