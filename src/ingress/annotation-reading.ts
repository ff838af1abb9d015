/** What the annotations of an Ingress say, and what is made of each. */
import { distance } from 'fastest-levenshtein';
import { annotationFeatures } from './annotations/index.ts';
import type { AnnotationFeature, AnnotationKey, WhenInvalid } from './declaration/annotation.ts';
import { CONTROL_CHARACTERS, contentOf } from './declaration/content.ts';
import { isEffective, type ProxyName, type Support, supportOf } from './declaration/support.ts';
import { quote } from './diagnose.ts';
import { legacyAdvice } from './legacy-annotations.ts';
import { nearestNameIn } from './nearest-name.ts';

/** One annotation of our prefix, or one whose prefix was meant to be ours. */
export interface AnnotationReading {
  /** As written, with the prefix. */
  readonly key: string;
  /** Without the prefix. */
  readonly name: string;
  /** Without the white space around it; empty where there is nothing else. */
  readonly text: string;
  readonly outcome: AnnotationOutcome;
  /** Absent for an unknown name. */
  readonly declaration?: AnnotationKey;
}

export type AnnotationOutcome =
  | { readonly kind: 'valid'; readonly feature: AnnotationFeature; readonly value: unknown; readonly support: Support }
  | {
      readonly kind: 'invalid';
      readonly feature: AnnotationFeature;
      readonly reason: string;
      readonly then: WhenInvalid;
    }
  /** As if it were not there, as with ingress-nginx; `why`: a sentence. */
  | { readonly kind: 'ignored'; readonly why: string }
  /** One that ingress-nginx gave up; `advice`: what took its place. */
  | { readonly kind: 'legacy'; readonly advice: string }
  | { readonly kind: 'unknown'; readonly suggestion?: string };

interface Declared {
  readonly feature: AnnotationFeature;
  readonly declaration: AnnotationKey;
  /** The name under which the value counts. */
  readonly canonical: string;
}

const declaredNames: ReadonlyMap<string, Declared> = new Map(
  annotationFeatures.flatMap((feature) =>
    Object.entries(feature.keys).flatMap(([canonical, declaration]) => {
      const declared = { feature, declaration, canonical };
      const { alias } = declaration;
      return [[canonical, declared] as const, ...(alias === undefined ? [] : [[alias, declared] as const])];
    }),
  ),
);

/** Every name that is declared, older names included. */
export const annotationNames: readonly string[] = [...declaredNames.keys()].toSorted();

const nearestName = nearestNameIn(annotationNames);

/**
 * In the order of their keys. An older name counts only where the newer one has no content.
 * @param prefix without its slash
 */
export function readAnnotations(
  annotations: Readonly<Record<string, string>>,
  prefix: string,
  proxy: ProxyName,
): readonly AnnotationReading[] {
  const readings: AnnotationReading[] = [];
  for (const key in annotations) {
    if (!key.startsWith(prefix) || key[prefix.length] !== '/') {
      const meant = misspelt(key, prefix);
      if (meant !== undefined) {
        readings.push({
          key,
          name: key,
          text: annotations[key] ?? '',
          outcome: { kind: 'unknown', suggestion: meant },
        });
      }
      continue;
    }
    const text = contentOf(annotations, key) ?? '';
    const name = key.slice(prefix.length + 1);
    const declared = declaredNames.get(name);
    if (declared === undefined) {
      readings.push({ key, name, text, outcome: undeclared(name) });
      continue;
    }
    const { declaration, canonical } = declared;
    const other = name === canonical ? declaration.alias : canonical;
    const otherCounts = other !== undefined && contentOf(annotations, `${prefix}/${other}`) !== undefined;
    let outcome: AnnotationOutcome;
    if (text === '') outcome = otherCounts ? EMPTY : whenEmpty(declared, name !== canonical && annotations[key] === '');
    else if (otherCounts && name !== canonical) outcome = { kind: 'ignored', why: `${canonical} counts in its place` };
    else outcome = decode(text, declared, proxy);
    readings.push({ key, name: canonical, text, declaration, outcome });
  }
  return readings
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map((reading) => withoutLeader(reading, readings) ?? reading);
}

const EMPTY: AnnotationOutcome = { kind: 'ignored', why: 'it is empty, as if it were not there' };

/** ingress-nginx looks for an older name only by its content, so that nothing between the quotes is never found there. */
function whenEmpty({ feature, declaration }: Declared, isUnseen: boolean): AnnotationOutcome {
  const then = declaration.whenEmpty;
  return then === undefined || isUnseen ? EMPTY : { kind: 'invalid', feature, reason: 'it is empty', then };
}

/** What is left over of a feature that nothing asks for; `undefined` where the annotation counts. */
function withoutLeader(
  reading: AnnotationReading,
  readings: readonly AnnotationReading[],
): AnnotationReading | undefined {
  const needs = reading.declaration?.needs;
  if (needs === undefined || reading.outcome.kind !== 'valid') return undefined;
  const leads = ({ name, outcome }: AnnotationReading) => needs.includes(name) && asksForSomething(outcome);
  if (readings.some(leads)) return undefined;
  return { ...reading, outcome: { kind: 'ignored', why: `it has no effect without ${needs.join(' or ')}` } };
}

/** A value that cannot be read asks for as much as any other. */
function asksForSomething(outcome: AnnotationOutcome): boolean {
  return outcome.kind === 'valid' ? outcome.value !== false : outcome.kind === 'invalid';
}

function decode(text: string, { feature, declaration }: Declared, proxy: ProxyName): AnnotationOutcome {
  const { codec, risk } = declaration;
  const decoded =
    risk !== 'Critical' && CONTROL_CHARACTERS.test(text) ? { reason: 'holds control characters' } : codec.decode(text);
  if ('value' in decoded)
    return { kind: 'valid', feature, value: decoded.value, support: supportOf(declaration[proxy], decoded.value) };
  const then =
    declaration.protects !== undefined && declaration.whenInvalid !== 'refuse' ? 'deny' : declaration.whenInvalid;
  return { kind: 'invalid', feature, reason: `${quote(text)} ${decoded.reason}`, then };
}

/** Valid values by name, for each feature that has any; none of a feature that is dropped as a whole. */
export function valuesByFeature(
  readings: readonly AnnotationReading[],
): ReadonlyMap<AnnotationFeature, Readonly<Record<string, unknown>>> {
  const values = new Map<AnnotationFeature, Record<string, unknown>>();
  for (const { name, outcome } of readings) {
    if (outcome.kind !== 'valid' || !isEffective(outcome.support)) continue;
    const ofFeature = values.get(outcome.feature);
    if (ofFeature === undefined) values.set(outcome.feature, { [name]: outcome.value });
    else ofFeature[name] = outcome.value;
  }
  for (const { outcome } of readings) {
    if (outcome.kind === 'invalid' && outcome.then === 'drop-group') values.delete(outcome.feature);
  }
  return values;
}

/** Whether an annotation protects a backend, and what. A value that says nothing readable protects as much as any other. */
export function protectionOf({ declaration, outcome }: AnnotationReading): 'paths' | 'host' | undefined {
  if (outcome.kind === 'ignored') return undefined;
  const { protects } = declaration ?? {};
  if (typeof protects !== 'function') return protects;
  return outcome.kind === 'valid' && !protects(outcome.value) ? undefined : 'paths';
}

function undeclared(name: string): AnnotationOutcome {
  const advice = legacyAdvice(name);
  if (advice !== undefined) return { kind: 'legacy', advice };
  const suggestion = nearestName(name);
  return { kind: 'unknown', ...(suggestion !== undefined && { suggestion }) };
}

/** A key of ours whose prefix holds a slip. Prefixes that differ in digits alone are those of several controllers. */
function misspelt(key: string, prefix: string): string | undefined {
  const slash = key.indexOf('/');
  if (slash < 0 || Math.abs(slash - prefix.length) > MAX_SLIPS) return undefined;
  const written = key.slice(0, slash);
  const name = key.slice(slash + 1);
  const isSlip = declaredNames.has(name) && distance(written.toLowerCase(), prefix) <= MAX_SLIPS;
  const digits = /\d/g;
  return isSlip && written.replace(digits, '') !== prefix.replace(digits, '') ? `${prefix}/${name}` : undefined;
}

const MAX_SLIPS = 2;
