/** Cases for annotations: what each does, through a real Envoy and a real nginx. */
import type { Codec } from '../../src/ingress/declaration/codec.ts';
import type { Case } from '../envoy/behaviour/cases.ts';
import type { Exchange, World } from '../parity/table.ts';

/** One request and what is seen of it, or an exchange of more than one. */
export type AnnotationCase = Case | Exchange;

/** What shows that a key is honoured. */
export interface KeyCases {
  /** With values as users write them. */
  readonly good: readonly AnnotationCase[];
  /** With a value that is not readable; absent where every text is. */
  readonly bad?: readonly AnnotationCase[];
  /** Without the key. */
  readonly default: readonly AnnotationCase[];
  /** Beside other keys, other Ingresses of the host, redirects, missing endpoints. */
  readonly neighbours?: readonly AnnotationCase[];
}

/** The cases of one feature, and the world in which they are asked. They run side by side. */
export interface AnnotationTable {
  readonly title: string;
  /** Starts the backends; the manifests lead to them. */
  start(): Promise<World>;
  /** By name without prefix; keys of the ConfigMap are called `ConfigMap KEY`. */
  readonly keys: Readonly<Record<string, KeyCases>>;
}

/** The prefix of annotations. */
export const PREFIX = 'nginx.ingress.kubernetes.io';

/** Annotations by their names without prefix. */
export function annotated(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).map(([name, value]) => [`${PREFIX}/${name}`, value]));
}

export function allCases(keys: AnnotationTable['keys']): readonly (readonly [title: string, AnnotationCase])[] {
  return Object.entries(keys).flatMap(([key, { good, bad = [], default: byDefault, neighbours = [] }]) =>
    Object.entries({ good, bad, default: byDefault, neighbours }).flatMap(([kind, cases]) =>
      cases.map((one) => [`${key}, ${kind}`, one] as const),
    ),
  );
}

/** Whether there is a text that the codec does not take. */
export function canBeInvalid(codec: Codec<unknown>): boolean {
  return ['(', 'not a value; really', '%%%'].some((text) => 'reason' in codec.decode(text));
}
