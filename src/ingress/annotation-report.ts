/** What users are told about their annotations. */
import type { Ingress } from '../cluster/objects.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { objectKey, objectRef } from '../model/object-ref.ts';
import { type AnnotationReading, protectionOf } from './annotation-reading.ts';
import { type ConfigMapKeyName, type ConfigMapValues, configMapKeys } from './config-map/keys.ts';
import type { Finding } from './declaration/annotation.ts';
import { isEffective } from './declaration/support.ts';
import { diagnose } from './diagnose.ts';
import type { MergedEffects } from './effects.ts';
import { annotationField } from './refusal.ts';

export interface AnnotationReport {
  readonly readings: readonly AnnotationReading[];
  readonly effects: Pick<MergedEffects, 'denied' | 'warnings' | 'host'>;
  readonly global: ConfigMapValues;
}

/** One Diagnostic for each annotation that does not do what it says. */
export function reportAnnotations(ingress: Ingress, { readings, effects, global }: AnnotationReport): Diagnostic[] {
  const ref = objectRef('Ingress', objectKey(ingress));
  const keyOf = (name: string) =>
    readings.find((reading) => reading.name === name && reading.outcome.kind !== 'ignored')?.key ?? name;
  const of = (severity: Diagnostic['severity'], code: Diagnostic['code'], key: string, message: string) =>
    diagnose(ref, severity, code, message, annotationField(key));
  return [
    ...readings.flatMap((reading) => reportReading(reading, { readings, global }, of)),
    ...effects.denied.map(({ annotation, reason }) =>
      of('error', 'AnnotationDenied', keyOf(annotation), `${reason}; its paths answer 503`),
    ),
    ...effects.warnings.map((finding) => reportFinding(finding, keyOf(finding.annotation), of)),
    ...(effects.host.passthrough ? reportPassedOver(ingress, readings) : []),
  ];
}

/** What counts for TLS that is passed through, or is meant for requests without TLS alone. */
const COUNTS_WITH_PASSTHROUGH = new Set([
  'ssl-passthrough',
  'service-upstream',
  'server-alias',
  'ssl-redirect',
  'force-ssl-redirect',
  'preserve-trailing-slash',
  'from-to-www-redirect',
]);

/** Backends that speak TLS with clients themselves are reached whatever else the Ingress says. */
function reportPassedOver(ingress: Ingress, readings: readonly AnnotationReading[]): Diagnostic[] {
  const over = readings.filter(({ name, outcome }) => outcome.kind === 'valid' && !COUNTS_WITH_PASSTHROUGH.has(name));
  if (over.length === 0) return [];
  const protects = over.some((reading) => protectionOf(reading) !== undefined);
  const names = over.map(({ key }) => key.slice(key.indexOf('/') + 1)).join(', ');
  const message = `of TLS that is passed through the proxy sees nothing, so these count for plain HTTP alone${protects ? ', and protect nothing else' : ''}: ${names}`;
  const ref = objectRef('Ingress', objectKey(ingress));
  return [diagnose(ref, protects ? 'warning' : 'info', 'PassthroughIgnores', message, 'metadata.annotations')];
}

type Report = (severity: Diagnostic['severity'], code: Diagnostic['code'], key: string, message: string) => Diagnostic;

function reportFinding({ annotation, reason, ignored, code, harmless }: Finding, key: string, of: Report): Diagnostic {
  const told = of(
    harmless ? 'info' : 'warning',
    code ?? (ignored ? 'AnnotationIgnored' : 'AnnotationInvalid'),
    key,
    reason,
  );
  if (ignored === undefined) return told;
  return { ...told, ignored: { annotations: [annotation], why: reason, ...(ignored !== true && { parts: ignored }) } };
}

function reportReading(
  reading: AnnotationReading,
  { readings, global }: Pick<AnnotationReport, 'readings' | 'global'>,
  of: Report,
): Diagnostic[] {
  const { key, declaration, outcome } = reading;
  if (outcome.kind === 'unknown') {
    const { suggestion } = outcome;
    const hint = suggestion === undefined ? '' : `; did you mean ${suggestion}?`;
    return [
      of('warning', 'AnnotationUnknown', key, `no annotation of that name is known, and it has no effect${hint}`),
    ];
  }
  if (outcome.kind === 'legacy') {
    return [
      of('warning', 'AnnotationUnsupported', key, `removed from ingress-nginx, and without effect: ${outcome.advice}`),
    ];
  }
  if (outcome.kind === 'valid') {
    const { support, value } = outcome;
    if (isEffective(support)) return [];
    const reason = support.state === 'refused' ? support.why : 'not supported yet';
    if (protectionOf(reading) !== undefined)
      return [of('error', 'ProtectionUnavailable', key, `${reason}; what it protects answers 503`)];
    // What asks for nothing misses nothing.
    if (value === false && declaration?.default !== 'true') return [];
    return [of('warning', 'AnnotationUnsupported', key, `${reason}; it has no effect`)];
  }
  if (outcome.kind === 'ignored')
    return declaration?.protects === undefined ? [] : [of('info', 'AnnotationIgnored', key, outcome.why)];
  switch (outcome.then) {
    case 'refuse':
      // A version that is refused is reported there; with a former one in its place nothing of it counts.
      return [];
    case 'deny':
      return [of('error', 'AnnotationDenied', key, `${outcome.reason}; its paths answer 503`)];
    case 'drop-group': {
      const { feature } = outcome;
      const group = readings.filter((one) => one.outcome.kind === 'valid' && one.outcome.feature === feature);
      const message = `${outcome.reason}; it has no effect, nor have those that belong to it`;
      const told = of('warning', 'AnnotationInvalid', key, message);
      const why = `it belongs to ${reading.name}, which cannot be read`;
      return [{ ...told, ignored: { annotations: group.map(({ name }) => name), why } }];
    }
    case 'default': {
      const { configMap, default: byDefault } = declaration ?? {};
      const instead = configMap === undefined ? byDefault : shownValue(configMap, global);
      const message = `${outcome.reason}; ${instead === undefined ? 'it has no effect' : `${instead} holds instead`}`;
      return [of('warning', 'AnnotationInvalid', key, message)];
    }
  }
}

function shownValue(key: ConfigMapKeyName, global: ConfigMapValues): string {
  const { default: byDefault, shownDefault } = configMapKeys[key];
  return global[key] === byDefault ? (shownDefault ?? String(byDefault)) : `what ${key} says in the ConfigMap`;
}
