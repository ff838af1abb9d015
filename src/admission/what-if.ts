/** What would become of an Ingress: it is built and emitted in a small engine that holds only what could matter to it. */
import { ClusterState, type ObjectChange, TODAY } from '../cluster/cluster-state.ts';
import type { Ingress, IngressRule, KubernetesObject } from '../cluster/objects.ts';
import { Engine } from '../derive.ts';
import { createBuild } from '../ingress/build.ts';
import { parseHost } from '../ingress/host.ts';
import { referencesOf } from '../ingress/references.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectKey } from '../model/object-ref.ts';
import type { HostName } from '../model/proxy-model.ts';
import { type AdmissionWorld, type Emitted, neighboursOn, relatedHosts } from './world.ts';

export interface Outcome {
  /** What is said about the Ingress and about the Secrets that it names: errors first. */
  readonly diagnostics: readonly Diagnostic[];
  /** Ingresses in the small engine, this one included. */
  readonly ingresses: number;
  /** Units that ran: what the review cost, as a count. */
  readonly unitRuns: number;
  /** Size of the resources that came out. */
  readonly bytes: number;
}

/** Gathers everything with the first step, so that the cluster may move on afterwards; pauses after each unit. */
export function* whatIf(ingress: Ingress, world: AdmissionWorld): Generator<void, Outcome, void> {
  const engine = new Engine();
  const state = new ClusterState(engine);
  const build = createBuild(engine, state, world.options);
  const emitted = world.emit?.(engine, build.model);
  const ingresses = gather(ingress, world, state);
  yield;
  const pass = yield* engine.steps();
  const failures = pass.failures.map(({ table, key, error }): Diagnostic => {
    const reason = error instanceof Error ? error.message : String(error);
    return { severity: 'error', code: 'UnitFailed', message: `${table} ${key}: ${reason}` };
  });
  const tables = [...build.diagnosticTables, ...(emitted?.diagnosticTables ?? [])];
  const about = yield* collect(tables, concerns(ingress, world.options.annotationsPrefix));
  return {
    diagnostics: [...failures, ...about].toSorted((a, b) => RANKS[a.severity] - RANKS[b.severity]),
    ingresses,
    unitRuns: Object.values(engine.counters()).reduce((sum, { runs }) => sum + runs, 0),
    bytes: emitted === undefined ? 0 : sizeOf(emitted),
  };
}

function* collect(
  tables: Emitted['diagnosticTables'],
  wanted: (diagnostic: Diagnostic) => boolean,
): Generator<void, Diagnostic[], void> {
  const found: Diagnostic[] = [];
  for (const table of tables) {
    for (const key of table.keys()) {
      for (const diagnostic of table.get(key)?.diagnostics ?? []) if (wanted(diagnostic)) found.push(diagnostic);
      yield;
    }
  }
  return found;
}

const RANKS = { error: 0, warning: 1, info: 2 } as const;

function concerns(ingress: Ingress, annotationsPrefix: string): (diagnostic: Diagnostic) => boolean {
  const secrets = new Set(keysOf('Secret', ingress, annotationsPrefix));
  const itself = objectKey(ingress);
  return ({ ref }) => {
    if (ref?.kind === 'Ingress') return objectKey(ref) === itself;
    return ref?.kind === 'Secret' && secrets.has(objectKey(ref));
  };
}

/** Puts what could matter into the small state. Returns the number of Ingresses. */
function gather(ingress: Ingress, world: AdmissionWorld, state: ClusterState): number {
  const known = world.state;
  const hosts = relatedHosts(ingress);
  const neighbours = neighboursOn(hosts, ingress, world).flatMap((neighbour) => reduceTo(hosts, neighbour) ?? []);
  const ingresses = [ageOf(ingress, known.ingresses.get(objectKey(ingress))), ...neighbours];
  for (const neighbour of neighbours) {
    const memoryKey = `ingress/${objectKey(neighbour)}`;
    const former = known.memory.get(memoryKey)?.value as Ingress | undefined;
    const reduced = former && reduceTo(hosts, former);
    if (reduced !== undefined) state.memory.set(memoryKey, { value: reduced });
  }
  const { defaultSslCertificate, defaultBackendService, configMap, annotationsPrefix } = world.options;
  const secrets = keysOf('Secret', ingress, annotationsPrefix);
  if (defaultSslCertificate !== undefined) secrets.push(defaultSslCertificate);
  const configMaps = keysOf('ConfigMap', ingress, annotationsPrefix);
  if (configMap !== undefined) configMaps.push(configMap);
  for (const key of secrets) state.memory.set(`certificate/${key}`, known.memory.get(`certificate/${key}`));
  for (const key of configMaps) state.memory.set(`config-map/${key}`, known.memory.get(`config-map/${key}`));
  const services = [...servicesOf(ingress), ...(defaultBackendService === undefined ? [] : [defaultBackendService])];
  // That there is any class decides too, so one of them is always taken along.
  const [anyClass = ''] = known.ingressClasses.keys();
  const classes = new Set([anyClass, ...ingresses.flatMap(({ ingressClassName }) => ingressClassName ?? [])]);
  const objects: (KubernetesObject | undefined)[] = [
    ...ingresses,
    ...[...classes].map((key) => known.ingressClasses.get(key)),
    ...services.map((key) => known.services.get(key)),
    ...secrets.map((key) => known.secrets.get(key)),
    ...configMaps.map((key) => known.configMaps.get(key)),
  ];
  state.apply(objects.flatMap((object): ObjectChange[] => (object === undefined ? [] : [{ upsert: object }])));
  state.today.set(TODAY, known.today.get(TODAY));
  return ingresses.length;
}

/** A new Ingress that does not carry its time yet is younger than all others. */
function ageOf(ingress: Ingress, stored: Ingress | undefined): Ingress {
  if (ingress.creationTimestamp !== 0) return ingress;
  return { ...ingress, creationTimestamp: stored?.creationTimestamp ?? Number.MAX_SAFE_INTEGER };
}

/**
 * The part of a neighbour that speaks about these hosts, so that its other hosts are not built. Its rules keep their numbers, which
 * messages show: those of other hosts become rules without paths. `undefined` if it does not speak about these hosts.
 */
function reduceTo(hosts: ReadonlySet<HostName>, neighbour: Ingress): Ingress | undefined {
  if (neighbour.rules.length === 0) return neighbour;
  const speaksOf = ({ host }: IngressRule) => {
    const parsed = parseHost(host);
    return 'host' in parsed && hosts.has(parsed.host);
  };
  const first = neighbour.rules.find(speaksOf);
  if (first === undefined) return undefined;
  const { paths: _, ...host } = first;
  return { ...neighbour, rules: neighbour.rules.map((rule) => (speaksOf(rule) ? rule : { ...host, paths: [] })) };
}

/** What the Ingress refers to of one kind. */
function keysOf(kind: 'Secret' | 'ConfigMap', ingress: Ingress, annotationsPrefix: string): ObjectKey[] {
  return referencesOf(ingress, annotationsPrefix).flatMap((ref) => (ref.kind === kind ? [objectKey(ref)] : []));
}

function servicesOf({ namespace, rules, defaultBackend }: Ingress): Set<ObjectKey> {
  const backends = [...rules.flatMap(({ paths }) => paths.map(({ backend }) => backend)), defaultBackend];
  return new Set(backends.flatMap((backend) => (backend?.service ? `${namespace}/${backend.service.name}` : [])));
}

function sizeOf({ resources }: Emitted): number {
  let bytes = 0;
  for (const { table } of resources) for (const key of table.keys()) bytes += table.get(key)?.bytes().length ?? 0;
  return bytes;
}
