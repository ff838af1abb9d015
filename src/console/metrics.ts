import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Counters } from '../derive.ts';
import type { XdsEvent, XdsObserver } from '../xds/observer.ts';
import { shortTypeName } from '../xds/resource.ts';
import { statusCodes } from '../xds/stream.ts';
import { addAdmissionMetrics, type ReviewMeasures } from './admission-metrics.ts';
import { CONTROLLER_PREFIX, type ControllerIdentity } from './controller-identity.ts';
import { addControllerMetrics, type LeaderState } from './controller-metrics.ts';
import { addReloadMetrics, type ReloadOutcome } from './reload-metrics.ts';
import { addSourceMetrics, type SourceActivity } from './source-metrics.ts';

export interface MetricSources {
  /** Engine counters, per table. */
  readonly tables: () => Readonly<Record<string, Counters & { readonly size: number }>>;
  /** Names of the tables that hold watched objects. */
  readonly objectTables: readonly string[];
  /** Messages encoded so far, per kind of message. */
  readonly encodes: () => Readonly<Record<string, number>>;
  /** Diagnostics in force, per severity. */
  readonly diagnostics: () => Readonly<Record<string, number>>;
  /** Objects of which an older version is served, per kind. */
  readonly held: () => Readonly<Record<string, number>>;
  /** Labels of the metrics that ingress-nginx has too; empty when absent. */
  readonly controller?: ControllerIdentity;
  /** Absent where nobody is elected. */
  readonly leader?: LeaderState;
  /** Of this package. */
  readonly version?: string;
}

/** What `/metrics` documents itself with. */
export interface MetricDescription {
  readonly name: string;
  readonly type: string;
  readonly help: string;
}

export interface Metrics {
  readonly observe: XdsObserver;
  /** A pass took this long and, when it changed resources, made this commit. */
  passed(durationMs: number, seq: number | undefined): void;
  /** Something happened between the source and its API server. */
  followed(activity: SourceActivity): void;
  /** The webhook has decided. */
  reviewed(review: ReviewMeasures): void;
  /** A proxy has loaded a configuration, or has not. */
  reloaded(outcome: ReloadOutcome): void;
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
  /** Our own metrics, without those of the process. */
  describe(): Promise<readonly MetricDescription[]>;
}

const PREFIX = 'ingress_xds_';
const LATENCY_BUCKETS_S = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
/** Commits that no stream has acknowledged are forgotten from here on; without streams they would pile up. */
const MAX_PENDING_COMMITS = 1000;

export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  addEngineMetrics(registry, sources);
  const xds = addXdsMetrics(registry);
  const passes = new Histogram({
    name: `${PREFIX}pass_seconds`,
    help: 'Duration of a pass: build, emit, check and commit',
    buckets: LATENCY_BUCKETS_S,
    registers: [registry],
  });
  const latency = createCommitLatency(registry);
  const reviewed = addAdmissionMetrics(registry, sources.controller);
  const { controller, leader, version = '' } = sources;
  addControllerMetrics(registry, {
    ...(controller && { identity: controller }),
    ...(leader && { leader }),
    version,
  });
  const followed = addSourceMetrics(registry);
  const reloaded = addReloadMetrics(registry, controller);
  return {
    observe: (event) => {
      xds(event);
      if (event.kind === 'programmed') latency.programmed(event.seq);
    },
    passed: (durationMs, seq) => {
      passes.observe(durationMs / 1000);
      if (seq !== undefined) latency.committed(seq);
    },
    followed,
    reviewed,
    reloaded,
    render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
    describe: async () => {
      const metrics = await registry.getMetricsAsJSON();
      return metrics
        .filter(({ name }) => name.startsWith(PREFIX) || name.startsWith(CONTROLLER_PREFIX))
        .map(({ name, type, help }) => ({ name, type: String(type), help }));
    },
  };
}

function addEngineMetrics(registry: Registry, sources: MetricSources): void {
  const { tables, objectTables, encodes, diagnostics, held } = sources;
  fill(registry, Gauge, 'objects', 'Watched objects', ['kind'], () =>
    objectTables.map((name): Sample => [name, tables()[name]?.size ?? 0]),
  );
  fill(registry, Gauge, 'units', 'Units that have a value, by table', ['table'], () =>
    Object.entries(tables()).map(([name, { size }]): Sample => [name, size]),
  );
  fill(registry, Counter, 'unit_runs_total', 'Units that ran, by table', ['table'], () =>
    Object.entries(tables()).map(([name, { runs }]): Sample => [name, runs]),
  );
  fill(registry, Counter, 'unit_equal_stops_total', 'Units whose outcome was as before, by table', ['table'], () =>
    Object.entries(tables()).map(([name, { equalStops }]): Sample => [name, equalStops]),
  );
  fill(registry, Counter, 'encodes_total', 'Messages encoded', ['message'], () => Object.entries(encodes()));
  fill(
    registry,
    Gauge,
    'held_units',
    'Objects of which an older version is served, since the newest is refused or broken',
    ['kind'],
    () => Object.entries(held()),
  );
  fill(registry, Gauge, 'diagnostics', 'Diagnostics in force', ['severity'], () => Object.entries(diagnostics()));
}

type Sample = readonly [label: string, value: number];

/** A metric whose values are read when somebody asks. */
function fill(
  registry: Registry,
  Kind: typeof Gauge<string> | typeof Counter<string>,
  name: string,
  help: string,
  labelNames: [string],
  read: () => readonly Sample[],
): void {
  const metric = new Kind({
    name: `${PREFIX}${name}`,
    help,
    labelNames,
    registers: [registry],
    collect: () => {
      metric.reset();
      for (const [label, value] of read()) metric.inc({ [labelNames[0]]: label }, value);
    },
  });
}

function addXdsMetrics(registry: Registry): XdsObserver {
  const gauge = (name: string, help: string) => new Gauge({ name: `${PREFIX}${name}`, help, registers: [registry] });
  const counter = (name: string, help: string) =>
    new Counter({ name: `${PREFIX}${name}`, help, labelNames: ['type'], registers: [registry] });
  const streams = gauge('streams', 'Open ADS streams');
  const responses = counter('responses_total', 'Responses sent');
  const bytes = counter('response_bytes_total', 'Bytes of responses sent');
  const resources = counter('resources_sent_total', 'Resources sent');
  const removals = counter('removals_sent_total', 'Names sent as removed');
  const acks = counter('acks_total', 'Responses that Envoy accepted');
  const nacks = counter('nacks_total', 'Responses that Envoy rejected');
  const gates = counter('gate_timeouts_total', 'Responses that waited too long for the clusters they need');
  const refusals = new Counter({
    name: `${PREFIX}refusals_total`,
    help: 'Connections and streams of clients that may not connect',
    registers: [registry],
  });
  return (event: XdsEvent) => {
    if (event.kind === 'opened') streams.inc();
    else if (event.kind === 'refused') refusals.inc();
    else if (event.kind === 'closed') {
      streams.dec();
      if (event.status?.code === statusCodes.permissionDenied) refusals.inc();
    } else if (event.kind === 'ack') acks.inc(typeLabel(event));
    else if (event.kind === 'nack') nacks.inc(typeLabel(event));
    else if (event.kind === 'gateTimeout') gates.inc(typeLabel(event));
    else if (event.kind === 'response') {
      responses.inc(typeLabel(event));
      bytes.inc(typeLabel(event), event.bytes);
      resources.inc(typeLabel(event), event.names.length);
      removals.inc(typeLabel(event), event.removed.length);
    }
  };
}

function typeLabel({ typeUrl }: { readonly typeUrl: string }): { type: string } {
  return { type: shortTypeName(typeUrl) };
}

/** From commit to the ACK that completes it, on the first stream that gets there. */
function createCommitLatency(registry: Registry): { committed(seq: number): void; programmed(seq: number): void } {
  const histogram = new Histogram({
    name: `${PREFIX}change_to_ack_seconds`,
    help: 'From the commit of a change until Envoy has accepted all of it',
    buckets: LATENCY_BUCKETS_S,
    registers: [registry],
  });
  const pending = new Map<number, number>();
  return {
    committed: (seq) => {
      pending.set(seq, performance.now());
      if (pending.size > MAX_PENDING_COMMITS) pending.delete(pending.keys().next().value ?? seq);
    },
    programmed: (seq) => {
      for (const [commit, since] of pending) {
        if (commit > seq) break;
        histogram.observe((performance.now() - since) / 1000);
        pending.delete(commit);
      }
    },
  };
}
