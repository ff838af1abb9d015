import type { Ingress } from '../cluster/objects.ts';
import { inspectDeeply } from './deep-inspection.ts';

export interface RefusalOptions {
  /** `--deep-inspect`, which is on unless this is `false`. */
  readonly deepInspect?: boolean;
}

/** Why a version of an Ingress is not taken, neither in part: a new Ingress is not served, an old one keeps what it was. */
export interface Refusal {
  /** Path inside the Ingress: `spec.rules[0].host`, `metadata.annotations`. */
  readonly field: string;
  /** The value and what is wrong with it, to be followed by what happens instead. */
  readonly reason: string;
}

/**
 * Everything for which ingress-nginx leaves out a version of an Ingress as a whole (values that fail validation, annotations
 * above the permitted risk). What makes one path or one annotation unusable is no refusal.
 */
export function refusalsOf(ingress: Ingress, { deepInspect = true }: RefusalOptions): Refusal[] {
  return deepInspect ? inspectDeeply(ingress) : [];
}
