import type { Codec } from './codec.ts';
import type { SupportByProxy } from './support.ts';

/** How a key of the ConfigMap (`--configmap`) is declared. */
export interface ConfigMapKey<V = unknown> extends SupportByProxy {
  readonly codec: Codec<V>;
  /** What holds without the key. */
  readonly default: V;
  /** The default as the documentation shows it; absent: as it is written. */
  readonly shownDefault?: string;
  /** The default is said in words, and is no value that one could write. */
  readonly defaultInWords?: true;
  /** What holds, and is said, where a value cannot be read, if the default would be less safe. */
  readonly whenUnreadable?: { readonly value: V; readonly means: string };
  /** What it does, one sentence. */
  readonly summary: string;
  /** A value as users write it. */
  readonly example: string;
  /** The value (`ObjectKey`) names an object of this kind, which sources that do not hold everything then read. */
  readonly refersTo?: 'ConfigMap';
  /** It protects backends, so every path answers 503 where a value cannot be honoured. */
  readonly protects?: (value: V) => boolean;
}

type Keys<V> = { readonly [N in keyof V]: ConfigMapKey<V[N]> };

/** Declares keys: the types of their values follow from their codecs. */
export function configMapKeys<const V>(keys: Keys<V>): Keys<V> {
  return keys;
}

/** The values of declared keys, by name. */
export type KeyValues<K> = {
  readonly [N in keyof K]: K[N] extends ConfigMapKey<infer V> ? V : never;
};
