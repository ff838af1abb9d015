import type { ConfigMap, Ingress, IngressBackend, IngressTls, Secret, Service } from '../cluster/objects.ts';
import type { Engine, Reader, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectKey, objectRef } from '../model/object-ref.ts';
import { type ClusterPolicy, DEFAULT_HOST, type HostName, type RoutePolicy } from '../model/proxy-model.ts';
import type { AcceptedIngress, AcceptOptions } from './accepted.ts';
import type { AnnotationReading } from './annotation-reading.ts';
import { reportAnnotations } from './annotation-report.ts';
import { DEFAULT_VALUES } from './config-map/reading.ts';
import type { CanaryRules, FeatureContext, HostEffects } from './declaration/annotation.ts';
import { diagnose, quote } from './diagnose.ts';
import { effectsOf } from './effects.ts';
import { GLOBAL, type GlobalOptions } from './global-options.ts';
import { parseHost } from './host.ts';
import { type PassthroughOptions, passthroughProblem } from './passthrough-options.ts';
import { parsePath, type RulePath } from './path.ts';
import { missingProtections, type Protection, protectorsOf } from './protective.ts';
import { whyUnserved } from './unserved-path.ts';

export interface IngressOptions extends Pick<AcceptOptions, 'annotationsPrefix'>, PassthroughOptions {}

export interface IngressSources {
  readonly acceptedIngresses: Table<AcceptedIngress>;
  readonly globalOptions: Table<GlobalOptions>;
  readonly configMaps: Table<ConfigMap>;
  readonly secrets: Table<Secret>;
  readonly services: Table<Service>;
}

/** An Ingress as it is to be served: of our class, with hosts and paths that requests can carry. */
export interface ServedIngress {
  readonly key: ObjectKey;
  readonly namespace: string;
  /** Seconds since 1970. */
  readonly creationTimestamp: number;
  readonly rules: readonly ServedRule[];
  readonly defaultBackend?: IngressBackend;
  /** It has no rules, only a default backend: it answers every host that nobody claims. */
  readonly catchAll: boolean;
  readonly tls: readonly IngressTls[];
  /** What protects its paths, for users: annotations, or the ConfigMap. A path that is not served is closed then. */
  readonly protectedBy: readonly string[];
  /** Why its paths are closed; empty where they are open. */
  readonly protections: readonly Protection[];
  /** Of every path, as its annotations and the ConfigMap ask for it. */
  readonly route: RoutePolicy;
  /** Of the connections to its backends, as its annotations ask for it. */
  readonly cluster: ClusterPolicy;
  /** What it asks of its hosts. */
  readonly host: HostEffects;
  /** Set for a canary: it serves no path of its own, and nothing else of it counts but its backends. */
  readonly canary?: CanaryRules;
}

export interface ServedRule {
  readonly host: HostName;
  /** `spec.rules[0]` */
  readonly field: string;
  readonly paths: readonly ServedPath[];
}

export interface ServedPath extends RulePath {
  /** `spec.rules[0].http.paths[0]` */
  readonly field: string;
  readonly backend: IngressBackend;
  /** Nothing is served there, since it stands for a path that cannot be and is to be protected. */
  readonly closed?: true;
}

/** What became of an Ingress. */
export interface IngressDecision {
  /** Absent when no version of the Ingress is accepted; its diagnostics stand there. */
  readonly served?: ServedIngress;
  readonly diagnostics: readonly Diagnostic[];
}

export type Age = Pick<ServedIngress, 'key' | 'creationTimestamp'>;

/** Older Ingresses come first; of equal age, in reverse order of `namespace/name`, as ingress-nginx sorts them. */
export function compareAge(a: Age, b: Age): number {
  return a.creationTimestamp - b.creationTimestamp || Number(a.key < b.key) - Number(a.key > b.key);
}

/** The hosts that an Ingress speaks about, each once. */
export function hostsOf(served: ServedIngress): Set<HostName> {
  return new Set(served.catchAll ? [DEFAULT_HOST] : served.rules.map(({ host }) => host));
}

/** Unit per Ingress. */
export function deriveServedIngresses(
  engine: Engine,
  sources: IngressSources,
  options: IngressOptions,
): Table<IngressDecision> {
  return engine.derive<IngressDecision>('served-ingress', sources.acceptedIngresses, (key, read) => {
    const version = read(sources.acceptedIngresses, key);
    if (version?.ingress === undefined) return { diagnostics: [] };
    const context = featureContext(version.ingress, read, sources, options);
    return serve({ ...version, ingress: version.ingress }, context, options);
  });
}

function featureContext(
  ingress: Ingress,
  read: Reader,
  { globalOptions, configMaps, secrets, services }: IngressSources,
  options: IngressOptions,
): FeatureContext {
  const global = read(globalOptions, GLOBAL)?.values ?? DEFAULT_VALUES;
  const noPassthrough = passthroughProblem(options, global);
  return {
    ingress,
    proxy: options.proxy,
    ...(noPassthrough !== undefined && { noPassthrough }),
    global,
    configMap: (key) => read(configMaps, key),
    secret: (key) => read(secrets, key),
    service: (key) => read(services, key),
  };
}

/** What a newer, refused version protects closes the paths as what is written here and cannot be honoured. */
function serve(
  { ingress, readings, missingProtections: missing }: Required<Omit<AcceptedIngress, 'state' | 'diagnostics'>>,
  context: FeatureContext,
  { annotationsPrefix: prefix }: IngressOptions,
): IngressDecision {
  const diagnostics: Diagnostic[] = [];
  const effects = effectsOf(readings, context);
  const denied = [
    ...readings.flatMap(({ key, outcome }) => (outcome.kind === 'invalid' && outcome.then === 'deny' ? [key] : [])),
    ...effects.denied.map(({ annotation }) => `${prefix}/${annotation}`),
  ];
  const protections = [...missingProtections(readings), ...denied.map((key) => ({ key, hostWide: false })), ...missing];
  const protectedBy = effects.canary === undefined ? protectorsOf(readings, protections, effects.route) : [];
  const rules = serveRules(ingress, protectedBy, diagnostics);
  if (effects.canary !== undefined) return serveCanary(ingress, { readings, rules, diagnostics, context });
  diagnostics.push(...reportAnnotations(ingress, { readings, effects, global: context.global }));
  diagnostics.push(...reportUnusedTls(ingress, rules));
  const served: ServedIngress = {
    ...claimsOf(ingress, rules),
    tls: ingress.tls,
    protectedBy,
    protections,
    route: effects.route,
    cluster: effects.cluster,
    host: effects.host,
  };
  return { served, diagnostics };
}

/** Who it is, and what it wants to answer. */
function claimsOf(ingress: Ingress, rules: readonly ServedRule[]) {
  const { namespace, creationTimestamp, defaultBackend } = ingress;
  return {
    key: objectKey(ingress),
    namespace,
    creationTimestamp,
    rules,
    ...(defaultBackend === undefined ? {} : { defaultBackend }),
    catchAll: ingress.rules.length === 0 && defaultBackend !== undefined,
  };
}

/**
 * A canary has the settings of its primary, what protects that included. Only how its Service is reached is its own.
 */
function serveCanary(
  ingress: Ingress,
  {
    readings,
    rules,
    diagnostics,
    context,
  }: {
    readonly readings: readonly AnnotationReading[];
    readonly rules: readonly ServedRule[];
    readonly diagnostics: readonly Diagnostic[];
    readonly context: FeatureContext;
  },
): IngressDecision {
  const counting = readings.filter(({ name, outcome }) => countsOnCanary(name) || outcome.kind === 'unknown');
  const ignored = readings.filter((reading) => !counting.includes(reading)).map(({ name }) => name);
  const effects = effectsOf(counting, context);
  const served: ServedIngress = {
    ...claimsOf(ingress, rules),
    tls: [],
    protectedBy: [],
    protections: [],
    route: {},
    cluster: effects.cluster,
    host: {},
    ...(effects.canary && { canary: effects.canary }),
  };
  const reports = reportAnnotations(ingress, { readings: counting, effects, global: context.global });
  return { served, diagnostics: [...diagnostics, ...reports, ...reportIgnored(ingress, ignored)] };
}

/** Of the annotations of a canary those that ingress-nginx heeds. */
function countsOnCanary(name: string): boolean {
  return /^(?:canary(?:-.*)?|affinity-canary-behavior|load-balance|upstream-hash-by.*|service-upstream)$/.test(name);
}

function reportIgnored(ingress: Ingress, names: readonly string[]): Diagnostic[] {
  if (names.length === 0) return [];
  const why = 'a canary is served with the settings of its primary';
  const message = `${why}; without effect: ${names.join(', ')}`;
  const told = diagnose(
    objectRef('Ingress', objectKey(ingress)),
    'info',
    'CanaryIgnores',
    message,
    'metadata.annotations',
  );
  return [{ ...told, ignored: { annotations: names, why } }];
}

function serveRules(ingress: Ingress, protectedBy: readonly string[], diagnostics: Diagnostic[]): ServedRule[] {
  const ref = objectRef('Ingress', objectKey(ingress));
  return ingress.rules.flatMap((rule, index) => {
    const field = `spec.rules[${index}]`;
    const { host: written = '' } = rule;
    const parsed = parseHost(written);
    if ('reason' in parsed) {
      const message = `host ${quote(written)} ${parsed.reason}; the rule is not served`;
      diagnostics.push(diagnose(ref, 'error', 'IngressHostInvalid', message, `${field}.host`));
      return [];
    }
    if (written !== '' && written !== parsed.host) {
      const message = `host ${quote(written)} is served as ${parsed.host}; Kubernetes takes lower-case names without a dot at the end`;
      diagnostics.push(diagnose(ref, 'warning', 'IngressHostNormalized', message, `${field}.host`));
    }
    return [{ host: parsed.host, field, paths: servePaths(ingress, index, protectedBy, diagnostics) }];
  });
}

function servePaths(
  ingress: Ingress,
  rule: number,
  protectedBy: readonly string[],
  diagnostics: Diagnostic[],
): ServedPath[] {
  const ref = objectRef('Ingress', objectKey(ingress));
  return (ingress.rules[rule]?.paths ?? []).flatMap(({ path = '', pathType, backend }, index): ServedPath[] => {
    const field = `spec.rules[${rule}].http.paths[${index}]`;
    const parsed = parsePath(path, pathType);
    if (!('reason' in parsed)) return [{ ...parsed, field, backend }];
    const message = whyUnserved(path, parsed, protectedBy);
    diagnostics.push(diagnose(ref, 'error', 'IngressPathInvalid', message, `${field}.path`));
    if (protectedBy.length === 0) return [];
    return parsed.meant.map((match) => ({
      path: match.path,
      type: match.kind === 'exact' ? 'exact' : 'prefix',
      literal: { match },
      field,
      backend,
      closed: true,
    }));
  });
}

/** Why `spec.tls` of an Ingress does nothing: the default certificate answers where no host is named. */
function reportUnusedTls(ingress: Ingress, rules: readonly ServedRule[]): Diagnostic[] {
  if (ingress.tls.length === 0 || rules.some(({ host }) => host !== DEFAULT_HOST)) return [];
  const message =
    'no rule that is served names a host, so spec.tls is without effect: the default certificate answers, and plain HTTP is not redirected';
  return [diagnose(objectRef('Ingress', objectKey(ingress)), 'warning', 'TlsWithoutHost', message, 'spec.tls')];
}
