/** How a text of a user becomes a value. Codecs are the only parsers of annotations and of keys of the ConfigMap. */
export interface Codec<V> {
  /** What values look like, for documentation and messages: `true or false`, `a whole number of seconds`. */
  readonly expects: string;
  /** `text` is trimmed, not empty, and holds no control characters. */
  decode(text: string): Decoded<V>;
}

/** `reason` follows the quoted value: `is no whole number`. */
export type Decoded<V> = { readonly value: V } | { readonly reason: string };

/** A codec for texts of which `parse` makes a value, or `undefined` where they are none. */
export function codec<V>(expects: string, parse: (text: string) => V | undefined): Codec<V> {
  return {
    expects,
    decode: (text) => {
      const value = parse(text);
      return value === undefined ? { reason: `is not ${expects}` } : { value };
    },
  };
}
