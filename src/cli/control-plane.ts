import { createHealthServer } from '../console/health.ts';
import { createMetrics } from '../console/metrics.ts';
import { createAdmin } from '../envoy/admin.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { XdsEvent } from '../xds/observer.ts';
import { createXdsServer } from '../xds/server.ts';
import { buildOptionsFrom, ConfigurationError, checkRunArguments, checkSource, type RunArguments } from './flags.ts';
import { keptCertificate } from './generated-certificate.ts';
import { connectToParent } from './ipc.ts';
import { hasIpv6 } from './ipv6.ts';
import { createLogger } from './logger.ts';
import { createManifestSource } from './manifest-source.ts';
import { createPipeline } from './pipeline.ts';
import { RunReadiness } from './readiness.ts';
import { createReporter } from './report.ts';

/** How long streams may finish what is under way when this process ends, in milliseconds. */
const CLOSE_GRACE_MS = 500;

/**
 * The control plane of a process tree: a child of `run`, which says when to end. Resolves with the exit code; faults of the
 * configuration are thrown.
 */
export async function runControlPlane(args: RunArguments): Promise<number> {
  checkRunArguments(args);
  checkSource(args);
  const stopped = Promise.withResolvers<void>();
  let draining = false;
  const parent = connectToParent({
    onDraining: () => {
      draining = true;
    },
    onStop: stopped.resolve,
  });
  if (parent === undefined) throw new Error('control-plane is a part of ingress-xds run, which starts it');
  const ipv6 = await hasIpv6();
  const generatedCertificate = await keptCertificate(parent.paths.folder);

  // Composed before anything runs; events reach all three observers.
  const observe = (event: XdsEvent) => {
    metrics.observe(event);
    readiness.observe(event);
    reporter.observe(event);
  };
  const pipeline = createPipeline({
    build: { ...buildOptionsFrom(args), generatedCertificate },
    emit: { ipv6 },
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
  const readiness = new RunReadiness(createAdmin({ socketPath: parent.paths.adminSocket }));
  const metrics = createMetrics({
    tables: () => engine.counters(),
    objectTables: state.objectTables,
    encodes: () => emitter.counters(),
    diagnostics: () => countBySeverity([...controller.currentDiagnostics(), ...source.diagnostics()]),
  });
  const server = createXdsServer({ store, observe });
  let wasReady = false;
  const health = createHealthServer({
    host: args.healthzHost ?? (ipv6 ? '::' : '0.0.0.0'),
    port: args.healthzPort,
    healthCheckPath: args.healthCheckPath,
    healthy: () => wasReady && !draining,
    ready: () => (draining ? { ready: false, reason: 'ending' } : readiness.current),
    metrics: metrics.render,
  });

  await configured(health.listen(), `--healthz-port=${args.healthzPort}`);
  await configured(source.start(), '--manifests');
  controller.start();
  await server.listen(`unix:${parent.paths.xdsSocket}`);
  parent.tellListening();
  void readiness.ready.then(() => {
    wasReady = true;
    reporter.ready({ http: args.httpPort, https: args.httpsPort });
  });
  await stopped.promise;
  controller.stop();
  await source.stop();
  await server.close({ graceMs: CLOSE_GRACE_MS });
  await health.close();
  parent.close();
  return 0;
}

function countBySeverity(diagnostics: readonly Diagnostic[]): Record<Diagnostic['severity'], number> {
  const counts = { error: 0, warning: 0, info: 0 };
  for (const { severity } of diagnostics) counts[severity]++;
  return counts;
}

/** What fails here fails again after a restart, so the whole process tree ends. */
async function configured<T>(step: Promise<T>, flag: string): Promise<T> {
  try {
    return await step;
  } catch (error) {
    throw new ConfigurationError(`${flag}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
