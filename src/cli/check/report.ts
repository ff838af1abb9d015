/** What `check` finds out: of every Ingress whether it is served, and of every annotation what is made of it. */
import type { ClusterState } from '../../cluster/cluster-state.ts';
import { type AnnotationReading, protectionOf, readAnnotations } from '../../ingress/annotation-reading.ts';
import type { Build, BuildOptions } from '../../ingress/build.ts';
import { type ConfigMapKeyName, configMapKeys } from '../../ingress/config-map/keys.ts';
import { type ConfigMapReading, readConfigMap } from '../../ingress/config-map/reading.ts';
import { type ProxyName, supportOf } from '../../ingress/declaration/support.ts';
import { ALL_CLOSED } from '../../ingress/global-options.ts';
import type { Diagnostic, DiagnosticCode } from '../../model/diagnostic.ts';
import { type ObjectKey, objectKey } from '../../model/object-ref.ts';
import { keyFindings } from './key-findings.ts';
import { wholeFindings } from './whole-findings.ts';

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
  const { state, options, diagnostics } = world;
  const { proxy, annotationsPrefix, configMap } = options;
  const data = configMap === undefined ? undefined : state.configMaps.get(configMap)?.data;
  const global = data && readConfigMap(data, proxy);
  const states = statesOf(world, (global?.protective.length ?? 0) > 0);
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
  const isAbsent = ({ code }: Diagnostic) => world.fromFolder && ABSENT.has(code);
  const sorted = [...diagnostics.filter(isWorthTelling(world)), ...wholeFindings(world, ingresses)].toSorted(
    (a, b) => RANKS[a.severity] - RANKS[b.severity] || comparePlace(a, b),
  );
  const findings = sorted.filter((diagnostic) => !isAbsent(diagnostic));
  return {
    proxy,
    ingresses,
    ...(configMap !== undefined &&
      data !== undefined &&
      global !== undefined && { configMap: { name: configMap, keys: configMapReports(data, global, proxy) } }),
    findings,
    absent: sorted.filter(isAbsent),
    quirks: quirksOf([...readings.values()]),
    totals: totalsOf(ingresses, findings),
  };
}

/** Nobody keeps EndpointSlices in files: where there is none at all, that each Service has none says nothing. */
function isWorthTelling({ state, fromFolder }: CheckedWorld): (diagnostic: Diagnostic) => boolean {
  const [slice] = fromFolder ? state.endpointSlices.keys() : [''];
  return ({ code }) => slice !== undefined || code !== 'ServiceWithoutEndpoints';
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

/** @param allClosed whether the ConfigMap closes every path. */
function statesOf(
  { build, diagnostics }: CheckedWorld,
  allClosed: boolean,
): (key: ObjectKey) => IngressReport['state'] {
  const by = (...codes: readonly DiagnosticCode[]) =>
    new Set(
      diagnostics.flatMap(({ code, ref }) => (ref?.kind === 'Ingress' && codes.includes(code) ? [objectKey(ref)] : [])),
    );
  const foreign = by('IngressClassForeign', 'IngressClassMissing');
  const held = by('IngressHeld');
  return (key) => {
    if (foreign.has(key)) return 'not ours';
    const served = build.servedIngresses.get(key)?.served;
    if (served === undefined) return 'refused';
    if (held.has(key) && !allClosed) return 'held';
    return allClosed || served.protections.length > 0 ? 'closed' : 'served';
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
    case 'ignored':
      return report('ignored', outcome.why);
    case 'legacy':
      return report('removed', outcome.advice);
    case 'unknown':
      return report('unknown', didYouMean(outcome.suggestion).note);
  }
}

function didYouMean(name: string | undefined): Pick<KeyReport, 'note'> {
  return name === undefined ? {} : { note: `did you mean ${name}?` };
}

function reportOf({ key, text }: AnnotationReading, state: KeyState, note?: string): KeyReport {
  // As written, which may be an older name.
  const name = key.slice(key.indexOf('/') + 1);
  return { name, value: text, state, ...(note !== undefined && { note }) };
}

function configMapReports(
  data: Readonly<Record<string, string>>,
  { findings, values, protective }: ConfigMapReading,
  proxy: ProxyName,
): KeyReport[] {
  return Object.entries(data)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]): KeyReport => {
      const finding = findings.find(({ key }) => key === name);
      if (finding?.kind === 'unknown') return { name, value, state: 'unknown', ...didYouMean(finding.suggestion) };
      const reason = finding && `${finding.reason}${protective.includes(name) ? `; ${ALL_CLOSED}` : ''}`;
      if (finding?.kind === 'invalid' && reason) return { name, value, state: 'invalid', note: reason };
      if (!Object.hasOwn(configMapKeys, name)) return { name, value, state: 'unknown' };
      const key = name as ConfigMapKeyName;
      const isEmpty = value.trim() === '';
      if (isEmpty && values[key] === configMapKeys[key].default)
        return { name, value, state: 'ignored', note: 'it is empty: the default holds' };
      const support = supportOf(configMapKeys[key][proxy], values[key]);
      // Nothing turns a switch off that is on without the key.
      if (isEmpty && support.state === 'honoured') return { name, value, state: 'honoured', note: 'it is empty: off' };
      const note = support.state === 'approximated' ? support.how : reason;
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

/** Those that are the same together, each text in the place of its first annotation. */
export function sameQuirks(quirks: readonly Quirk[]): readonly (readonly [quirk: string, of: readonly Quirk[]])[] {
  return [...Map.groupBy(quirks, ({ quirk }) => quirk)];
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
