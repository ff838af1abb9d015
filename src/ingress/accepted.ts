/**
 * Which version of an Ingress is served. A version that is refused as a whole does not take away the one before it, as in
 * ingress-nginx; but where it was to protect something, the paths are closed rather than served without the protection.
 */
import type { MemoryEntry } from '../cluster/cluster-state.ts';
import type { Ingress, IngressClass } from '../cluster/objects.ts';
import { deepEqual, type Engine, type Key, type Pass, type Reader, type Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectKey, objectRef } from '../model/object-ref.ts';
import { type AnnotationReading, readAnnotations } from './annotation-reading.ts';
import { type ClassOptions, refuseClass } from './class.ts';
import type { ProxyName } from './declaration/support.ts';
import { diagnose } from './diagnose.ts';
import { GLOBAL } from './global-options.ts';
import { changedProtections, type Protection } from './protective.ts';
import { type AcceptancePolicy, type Refusal, type RefusalOptions, refusalsOf } from './refusal.ts';

export interface AcceptOptions extends ClassOptions, RefusalOptions {
  /** `--disable-catch-all`: an Ingress with `spec.defaultBackend` is not served. */
  readonly disableCatchAll?: boolean;
  /** Without its slash: `nginx.ingress.kubernetes.io`. */
  readonly annotationsPrefix: string;
  /** Which proxy is to be configured. */
  readonly proxy: ProxyName;
}

export interface AcceptedIngress {
  /**
   * `current`: as it is written. `held`: what is written is refused, the version before it is served. `refused`: and there was
   * none. `excluded`: it is not ours, or of a kind that is not served, and whatever it was before is forgotten.
   */
  readonly state: 'current' | 'held' | 'refused' | 'excluded';
  /** The version that is served, with `current` and `held`. */
  readonly ingress?: Ingress;
  /** What its annotations say: each is decoded once, here. Empty where no version is served. */
  readonly readings: readonly AnnotationReading[];
  /** What the refused version protects and the served one does not: paths are closed for it. Only with `held`. */
  readonly missingProtections: readonly Protection[];
  readonly diagnostics: readonly Diagnostic[];
}

export interface AcceptSources {
  readonly ingresses: Table<Ingress>;
  readonly ingressClasses: Table<IngressClass>;
  readonly memory: Table<MemoryEntry>;
  readonly policy: Table<AcceptancePolicy>;
}

/** Unit per Ingress. */
export function deriveAcceptedIngresses(
  engine: Engine,
  { ingresses, ingressClasses, memory, policy }: AcceptSources,
  options: AcceptOptions,
): Table<AcceptedIngress> {
  const presence = deriveClassPresence(engine, ingressClasses);
  return engine.derive<AcceptedIngress>(
    'accepted-ingress',
    ingresses,
    (key, read) => {
      const ingress = read(ingresses, key);
      if (ingress === undefined) return undefined;
      const classes = {
        get: (name: string) => read(ingressClasses, name),
        anyExists: () => read(presence, PRESENCE) ?? false,
      };
      const exclusion = refuseClass(ingress, classes, options) ?? refuseFeature(ingress, options);
      if (exclusion !== undefined) return { state: 'excluded', ...NOTHING, diagnostics: [exclusion] };
      const rules = read(policy, GLOBAL);
      const readings = readAnnotations(ingress.annotations, options.annotationsPrefix, options.proxy);
      const refusals = rules === undefined ? [] : refusalsOf(ingress, readings, rules, options);
      if (refusals.length === 0)
        return { state: 'current', ingress, readings, missingProtections: [], diagnostics: [] };
      const former = formerVersion(ingress, read, memory);
      return former === undefined
        ? refuse({ ingress, readings, refusals })
        : hold({ ingress, readings, refusals }, former, options);
    },
    sameVersion,
  );
}

/** What a pass leaves to remember: the version that is served, until its Ingress is deleted or not ours any more. */
export function* acceptedMemory(
  pass: Pass,
  accepted: Table<AcceptedIngress>,
): Iterable<{ readonly key: Key; readonly value: MemoryEntry | undefined }> {
  for (const [key, result] of pass.of(accepted)) {
    if (result?.ingress === undefined) yield { key: memoryKey(key), value: undefined };
    else if (result.state === 'current') yield { key: memoryKey(key), value: { value: result.ingress } };
  }
}

function memoryKey(ingress: ObjectKey): Key {
  return `ingress/${ingress}`;
}

/** The remembered version, unless it belongs to an Ingress of the same name that was deleted since. */
function formerVersion(ingress: Ingress, read: Reader, memory: Table<MemoryEntry>): Ingress | undefined {
  const former = read(memory, memoryKey(objectKey(ingress)))?.value as Ingress | undefined;
  return former?.creationTimestamp === ingress.creationTimestamp ? former : undefined;
}

const NOTHING = { readings: [], missingProtections: [] };

interface RefusedVersion {
  readonly ingress: Ingress;
  readonly readings: readonly AnnotationReading[];
  readonly refusals: readonly Refusal[];
}

/** As in ingress-nginx it is as if it were not there, what it protects included: other Ingresses of its hosts may answer for it. */
function refuse({ ingress, readings, refusals }: RefusedVersion): AcceptedIngress {
  const names = changedProtections({}, readings).map(({ key }) => key.slice(key.indexOf('/') + 1));
  const open = `, and its ${names.join(', ')} ${names.length === 1 ? 'protects' : 'protect'} nothing: if another Ingress has a wider path on one of its hosts, such as /, requests are answered there, without that protection`;
  const instead = `the Ingress is not served${names.length > 0 ? open : ''}`;
  return { state: 'refused', ...NOTHING, diagnostics: report(ingress, 'IngressRefused', refusals, instead) };
}

function hold(
  { ingress, readings, refusals }: RefusedVersion,
  former: Ingress,
  { annotationsPrefix, proxy }: AcceptOptions,
): AcceptedIngress {
  const missingProtections = changedProtections(former.annotations, readings);
  const keys = missingProtections.map(({ key }) => key).join(', ');
  const version = former.generation === undefined ? 'the version before' : `generation ${former.generation}`;
  const instead =
    missingProtections.length === 0
      ? `${version} stays in force`
      : `${version} stays in force, but its paths answer 503, since the refused version changes what protects them (${keys})`;
  return {
    state: 'held',
    ingress: former,
    readings: readAnnotations(former.annotations, annotationsPrefix, proxy),
    missingProtections,
    diagnostics: report(ingress, 'IngressHeld', refusals, instead),
  };
}

function report(
  ingress: Ingress,
  code: 'IngressRefused' | 'IngressHeld',
  refusals: readonly Refusal[],
  instead: string,
): Diagnostic[] {
  const ref = objectRef('Ingress', objectKey(ingress));
  return refusals.map(({ field, reason }) => diagnose(ref, 'error', code, `${reason}; ${instead}`, field));
}

/** Versions are compared by identity: the input holds what has changed and nothing else. */
function sameVersion(a: AcceptedIngress, b: AcceptedIngress): boolean {
  return a.ingress === b.ingress && a.state === b.state && deepEqual(a.diagnostics, b.diagnostics);
}

const PRESENCE = 'any';

/** Whether there is any IngressClass; moves only with the first and the last one. */
function deriveClassPresence(engine: Engine, ingressClasses: Table<IngressClass>): Table<boolean> {
  return engine.reduce<IngressClass, true, Set<string>, boolean>('ingress-class-presence', ingressClasses, {
    spread: () => [[PRESENCE, true]],
    init: () => new Set(),
    add: (names, name) => void names.add(name),
    remove: (names, name) => void names.delete(name),
    empty: (names) => names.size === 0,
    view: (names) => names.size > 0,
    equal: Object.is,
    always: [PRESENCE],
  });
}

/** Why an Ingress of our class is left out as a whole. */
function refuseFeature(ingress: Ingress, options: AcceptOptions): Diagnostic | undefined {
  const ref = objectRef('Ingress', objectKey(ingress));
  if (options.disableCatchAll && ingress.defaultBackend !== undefined) {
    const message = 'a default backend is refused by --disable-catch-all; the Ingress is not served';
    return diagnose(ref, 'error', 'IngressFeatureUnsupported', message, 'spec.defaultBackend');
  }
  return undefined;
}
