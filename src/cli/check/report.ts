/** What `check` finds out: of every Ingress whether it is served, and of every annotation what is made of it. */
import type { ClusterState } from '../../cluster/cluster-state.ts';
import { type AnnotationReading, protectionOf, readAnnotations } from '../../ingress/annotation-reading.ts';
import type { Build, BuildOptions } from '../../ingress/build.ts';
import { type ConfigMapKeyName, configMapKeys } from '../../ingress/config-map/keys.ts';
import { readConfigMap } from '../../ingress/config-map/reading.ts';
import { type ProxyName, supportOf } from '../../ingress/declaration/support.ts';
import type { Diagnostic, DiagnosticCode } from '../../model/diagnostic.ts';
import { type ObjectKey, objectKey, objectRef } from '../../model/object-ref.ts';
import { keyFindings } from './key-findings.ts';

/**
 * `invalid`: the value cannot be read, or not all of it. `ignored`: it has no effect beside what else is there. `removed`: ingress-nginx
 * itself gave it up.
 */
export const keyStates = [
  'honoured',
  'approximated',
  'refused',
  'planned',
  'invalid',
  'ignored',
  'removed',
  'unknown',
] as const;
export type KeyState = (typeof keyStates)[number];

/** One annotation, or one key of the ConfigMap. */
export interface KeyReport {
  readonly name: string;
  readonly value: string;
  readonly state: KeyState;
  /** The difference, or the reason; absent where there is nothing to say. */
  readonly note?: string;
}

export interface IngressReport {
  readonly ingress: ObjectKey;
  /** `closed`: with 503 on every path of it. `held`: a former version is served. Only of a cluster. */
  readonly state: 'served' | 'closed' | 'held' | 'refused' | 'not ours';
  readonly annotations: readonly KeyReport[];
}

export interface CheckReport {
  readonly proxy: ProxyName;
  /** Sorted by namespace and name. */
  readonly ingresses: readonly IngressReport[];
  /** Absent without `--configmap`. */
  readonly configMap?: { readonly name: ObjectKey; readonly keys: readonly KeyReport[] };
  /** What is to be said beside that, errors first, with positions in the files where there are some. */
  readonly findings: readonly Diagnostic[];
  /** Objects that Ingresses name and that the folder does not hold; empty for a cluster, where they are findings. */
  readonly absent: readonly Diagnostic[];
  /** Behaviours of ingress-nginx that annotations bring along, and how many Ingresses rely on each. */
  readonly quirks: readonly Quirk[];
  readonly totals: Totals;
}

export interface Quirk {
  readonly annotation: string;
  readonly quirk: string;
  readonly ingresses: number;
}

export interface Totals {
  readonly ingresses: Readonly<Record<IngressReport['state'], number>>;
  readonly annotations: Readonly<Record<KeyState, number>>;
  readonly findings: Readonly<Record<Diagnostic['severity'], number>>;
}

export interface CheckedWorld {
  readonly state: ClusterState;
  readonly build: Pick<Build, 'servedIngresses'>;
  readonly options: BuildOptions;
  readonly diagnostics: readonly Diagnostic[];
  /** Whether the objects come from a folder, which need not hold all that Ingresses name. */
  readonly fromFolder: boolean;
}

/** What a folder of Ingresses alone does not hold. */
const ABSENT: ReadonlySet<DiagnosticCode> = new Set<DiagnosticCode>([
  'IngressClassMissing',
  'SecretNotFound',
  'ServiceNotFound',
  'ServiceWithoutEndpoints',
]);

const CLOSED = 'what it protects answers 503';

const RANKS = { error: 0, warning: 1, info: 2 } as const;

export function checkReport(world: CheckedWorld): CheckReport {
  const { state, options, diagnostics, fromFolder } = world;
  const { proxy, annotationsPrefix, configMap } = options;
  const states = statesOf(world);
  const findingOf = keyFindings(world);
  const readings = new Map<ObjectKey, readonly AnnotationReading[]>();
  const broken = brokenIngresses(diagnostics);
  const ingresses = [...new Set([...state.ingresses.keys(), ...broken])].toSorted().map((key): IngressReport => {
    const ingress = state.ingresses.get(key);
    if (ingress === undefined) return { ingress: key, state: 'refused', annotations: [] };
    const read = readAnnotations(ingress.annotations, annotationsPrefix, proxy);
    const ingressState = states(key);
    const isRefused = ingressState === 'refused';
    const reports = read.map((reading) => {
      const { state, note } = findingOf(key, reading) ?? {};
      return state === undefined ? keyReport(reading, isRefused) : reportOf(reading, state, note);
    });
    readings.set(
      key,
      read.filter((_, index) => reports[index]?.state !== 'ignored'),
    );
    return { ingress: key, state: ingressState, annotations: reports };
  });
  const data = configMap === undefined ? undefined : state.configMaps.get(configMap)?.data;
  const sorted = [
    ...diagnostics,
    ...(configMap === undefined ? unnamedConfigMaps(state) : []),
    ...(ingresses.length === 0 ? [noIngresses(fromFolder)] : []),
  ].toSorted((a, b) => RANKS[a.severity] - RANKS[b.severity] || comparePlace(a, b));
  const isAbsent = ({ code }: Diagnostic) => fromFolder && ABSENT.has(code);
  const findings = sorted.filter((diagnostic) => !isAbsent(diagnostic));
  return {
    proxy,
    ingresses,
    ...(configMap !== undefined &&
      data !== undefined && { configMap: { name: configMap, keys: configMapReports(data, proxy) } }),
    findings,
    absent: sorted.filter(isAbsent),
    quirks: quirksOf([...readings.values()]),
    totals: totalsOf(ingresses, findings),
  };
}

/** It looks like success, and is more often a wrong folder. */
function noIngresses(fromFolder: boolean): Diagnostic {
  const where = fromFolder ? 'among the manifests' : 'in what was read of the cluster';
  return {
    severity: 'warning',
    code: 'IngressesMissing',
    message: `there is no Ingress ${where}, so nothing was checked`,
  };
}

/** ConfigMaps that hold keys of ours, and are not read because nobody has named one. */
function unnamedConfigMaps({ configMaps }: ClusterState): Diagnostic[] {
  return [...configMaps.keys()].toSorted().flatMap((key): Diagnostic[] => {
    const known = Object.keys(configMaps.get(key)?.data ?? {}).filter((name) => Object.hasOwn(configMapKeys, name));
    if (known.length === 0) return [];
    const message = `it holds ${known.slice(0, 3).join(', ')}${known.length > 3 ? ' and more' : ''} like that of the controller; --configmap ${key} lets it count`;
    return [{ severity: 'warning', code: 'ConfigMapNotNamed', ref: objectRef('ConfigMap', key), message }];
  });
}

/** In the order of the files; equal places stay in the order in which they came. */
function comparePlace({ source: a }: Diagnostic, { source: b }: Diagnostic): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}

/** Those without the shape of an Ingress: a finding says why. */
function brokenIngresses(diagnostics: readonly Diagnostic[]): ObjectKey[] {
  return diagnostics.flatMap(({ code, severity, ref }) =>
    code === 'ObjectInvalid' && severity === 'error' && ref?.kind === 'Ingress' ? [objectKey(ref)] : [],
  );
}

function statesOf({ build, diagnostics }: CheckedWorld): (key: ObjectKey) => IngressReport['state'] {
  const by = (...codes: readonly DiagnosticCode[]) =>
    new Set(
      diagnostics.flatMap(({ code, ref }) => (ref?.kind === 'Ingress' && codes.includes(code) ? [objectKey(ref)] : [])),
    );
  const foreign = by('IngressClassForeign', 'IngressClassMissing');
  const held = by('IngressHeld');
  return (key) => {
    if (foreign.has(key)) return 'not ours';
    if (held.has(key)) return 'held';
    const served = build.servedIngresses.get(key)?.served;
    if (served === undefined) return 'refused';
    return served.protections.length > 0 ? 'closed' : 'served';
  };
}

/** @param isRefused whether nothing of the Ingress is served, so that nothing of it is closed either. */
function keyReport(reading: AnnotationReading, isRefused: boolean): KeyReport {
  const { outcome } = reading;
  const report = (state: KeyState, note?: string) => reportOf(reading, state, note);
  switch (outcome.kind) {
    case 'valid': {
      const { support } = outcome;
      if (support.state === 'approximated') return report(support.state, support.how);
      if (support.state === 'refused') return report(support.state, support.why);
      if (support.state === 'planned' && !isRefused && protectionOf(reading) !== undefined)
        return report('planned', CLOSED);
      return report(support.state);
    }
    case 'invalid':
      return report('invalid', outcome.reason);
    case 'legacy':
      return report('removed', outcome.advice);
    case 'unknown':
      return report('unknown', outcome.suggestion === undefined ? undefined : `did you mean ${outcome.suggestion}?`);
  }
}

function reportOf({ key, text }: AnnotationReading, state: KeyState, note?: string): KeyReport {
  // As written, which may be an older name.
  const name = key.slice(key.indexOf('/') + 1);
  return { name, value: text, state, ...(note !== undefined && { note }) };
}

function configMapReports(data: Readonly<Record<string, string>>, proxy: ProxyName): KeyReport[] {
  const { findings, values } = readConfigMap(data, proxy);
  return Object.entries(data)
    .filter(([, value]) => value.trim() !== '')
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]): KeyReport => {
      const finding = findings.find(({ key }) => key === name);
      if (finding?.kind === 'unknown') return { name, value, state: 'unknown' };
      if (finding?.kind === 'invalid') return { name, value, state: 'invalid', note: finding.reason };
      const key = name as ConfigMapKeyName;
      const support = supportOf(configMapKeys[key][proxy], values[key]);
      const note = support.state === 'approximated' ? support.how : finding?.reason;
      return { name, value, state: support.state, ...(note !== undefined && support.state !== 'honoured' && { note }) };
    });
}

function quirksOf(all: readonly (readonly AnnotationReading[])[]): Quirk[] {
  const quirks = new Map<string, Quirk>();
  for (const { name, declaration, outcome } of all.flat()) {
    if (declaration?.quirk === undefined || outcome.kind !== 'valid' || outcome.value === false) continue;
    const { ingresses } = quirks.get(name) ?? { ingresses: 0 };
    quirks.set(name, { annotation: name, quirk: declaration.quirk, ingresses: ingresses + 1 });
  }
  return [...quirks.values()].toSorted((a, b) => (a.annotation < b.annotation ? -1 : 1));
}

function totalsOf(ingresses: readonly IngressReport[], findings: readonly Diagnostic[]): Totals {
  const states = { served: 0, closed: 0, held: 0, refused: 0, 'not ours': 0 };
  const annotations = Object.fromEntries(keyStates.map((state) => [state, 0])) as Record<KeyState, number>;
  const severities = { error: 0, warning: 0, info: 0 };
  for (const { state, annotations: keys } of ingresses) {
    states[state]++;
    for (const key of keys) annotations[key.state]++;
  }
  for (const { severity } of findings) severities[severity]++;
  return { ingresses: states, annotations, findings: severities };
}
