/**
 * What protects a backend. Where it cannot be honoured, whatever carries it is closed (503): a protection is never dropped in silence.
 */
import { PROTECTIVE_POLICIES } from '../model/protective-policies.ts';
import type { RoutePolicy } from '../model/proxy-model.ts';
import { type AnnotationReading, protectionOf } from './annotation-reading.ts';
import { contentOf } from './declaration/content.ts';
import { isEffective } from './declaration/support.ts';

export interface Protection {
  /** The full annotation key. */
  readonly key: string;
  /** ingress-nginx applies it to every path of the host, also to those of other Ingresses. */
  readonly hostWide: boolean;
}

/** The protective annotations that cannot be honoured, in the order of their names. */
export function missingProtections(readings: readonly AnnotationReading[]): Protection[] {
  return readings.flatMap((reading) => {
    const { outcome } = reading;
    if (outcome.kind === 'valid' && isEffective(outcome.support)) return [];
    return protection(reading);
  });
}

/** What protects the paths of an Ingress, honoured or not, for users. */
export function protectorsOf(
  readings: readonly AnnotationReading[],
  missing: readonly Protection[],
  route: RoutePolicy,
): readonly string[] {
  const keys = new Set([...readings.flatMap(protection), ...missing].map(({ key }) => key));
  if (keys.size > 0) return [...keys];
  return PROTECTIVE_POLICIES.some((policy) => route[policy] !== undefined) ? ['the ConfigMap'] : [];
}

/** The protective annotations that `after` adds to `before` or changes in it; what it takes away is not among them. */
export function changedProtections(
  before: Readonly<Record<string, string>>,
  after: readonly AnnotationReading[],
): Protection[] {
  return after.filter(({ key, text }) => contentOf(before, key) !== text).flatMap(protection);
}

function protection(reading: AnnotationReading): Protection[] {
  const protects = protectionOf(reading);
  return protects === undefined ? [] : [{ key: reading.key, hostWide: protects === 'host' }];
}
