import type { Ingress } from '../cluster/objects.ts';
import { type AnnotationReading, protectionOf } from './annotation-reading.ts';
import type { ConfigMapValues } from './config-map/keys.ts';
import { risks } from './declaration/risk.ts';
import { isEffective } from './declaration/support.ts';
import { inspectDeeply } from './deep-inspection.ts';
import { quote } from './diagnose.ts';

export interface RefusalOptions {
  /** `--deep-inspect`, which is on unless this is `false`. */
  readonly deepInspect?: boolean;
}

/** What the ConfigMap says about the Ingresses that are taken. */
export type AcceptancePolicy = Pick<
  ConfigMapValues,
  'annotations-risk-level' | 'annotation-value-word-blocklist' | 'allow-snippet-annotations'
>;

/** Why a version of an Ingress is not taken, neither in part: a new Ingress is not served, an old one keeps what it was. */
export interface Refusal {
  /** Path inside the Ingress: `spec.rules[0].host`, `metadata.annotations[…]`. */
  readonly field: string;
  /** The value and what is wrong with it, to be followed by what happens instead. */
  readonly reason: string;
}

/**
 * Everything for which ingress-nginx leaves out a version of an Ingress as a whole (values that fail validation, annotations
 * above the permitted risk). What makes one path or one annotation unusable is no refusal.
 * @param readings of its annotations
 */
export function refusalsOf(
  ingress: Ingress,
  readings: readonly AnnotationReading[],
  policy: AcceptancePolicy,
  { deepInspect = true }: RefusalOptions,
): Refusal[] {
  return [...(deepInspect ? inspectDeeply(ingress) : []), ...readings.flatMap((reading) => refuse(reading, policy))];
}

function refuse(reading: AnnotationReading, policy: AcceptancePolicy): Refusal[] {
  const reason = reasonToRefuse(reading, policy);
  return reason === undefined ? [] : [{ field: annotationField(reading.key), reason }];
}

function reasonToRefuse(reading: AnnotationReading, policy: AcceptancePolicy): string | undefined {
  const { name, text, declaration, outcome } = reading;
  const word = policy['annotation-value-word-blocklist'].find((blocked) => text.includes(blocked));
  if (word !== undefined) return `the value holds ${quote(word)}, which annotation-value-word-blocklist refuses`;
  if (declaration === undefined || text === '') return undefined;
  const level = policy['annotations-risk-level'];
  if (risks.indexOf(declaration.risk) > risks.indexOf(level))
    return `its risk is ${declaration.risk}, above ${level}, which is what annotations-risk-level allows${ifAllowed(reading)}`;
  if (name.endsWith('-snippet') && !policy['allow-snippet-annotations'])
    return `snippets are not allowed here (allow-snippet-annotations)${ifAllowed(reading)}`;
  return outcome.kind === 'invalid' && outcome.then === 'refuse' ? outcome.reason : undefined;
}

/** To allow what is not built is no way out, which whoever reads of a level would try first. */
function ifAllowed(reading: AnnotationReading): string {
  const { outcome } = reading;
  if (outcome.kind !== 'valid' || isEffective(outcome.support)) return '';
  const then = protectionOf(reading) === undefined ? 'it would have no effect' : 'its paths would answer 503';
  const why = outcome.support.state === 'refused' ? outcome.support.why : 'not supported yet';
  return `; to allow it is no help, ${then} (${why})`;
}

/** The field of an annotation: `metadata.annotations["nginx.ingress.kubernetes.io/app-root"]`. */
export function annotationField(key: string): string {
  return `metadata.annotations[${quote(key)}]`;
}
