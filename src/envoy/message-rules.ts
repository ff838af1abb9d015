/** What Envoy's schema says of messages beyond their types, generated from it: reading the schema itself takes a fifth of a second. */
import { readFileSync } from 'node:fs';

export interface MessageRules {
  /** Fields of which there is something to say, by name. */
  readonly fields: Readonly<Record<string, FieldRules>>;
  /** Oneofs of which one member must be set, with their members. */
  readonly requiredOneofs?: Readonly<Record<string, readonly string[]>>;
  /** `validate.disabled` or `validate.ignored`: Envoy checks no rule of this message. */
  readonly unchecked?: true;
}

export interface FieldRules {
  /** `validate.rules` */
  readonly rules?: ValueRules;
  /** `udpa.annotations.sensitive`: must not be shown. */
  readonly sensitive?: true;
  /** Absent: one value. */
  readonly label?: 'repeated' | 'map';
  /** The full name of the message that the field, or each of its items, is. */
  readonly message?: string;
  /** The numbers of the enum that the field, or each of its items, is; only where there are `rules`. */
  readonly enum?: readonly number[];
  /** What counts where the field is not set; absent where a message without it has no value for it. */
  readonly default?: unknown;
  /** A member of a oneof: its `rules` hold only while it is the one that is set. */
  readonly member?: true;
}

/**
 * `validate.FieldRules` of protoc-gen-validate: rules named after the kind of value (`string`, `uint32`, `repeated`, …), and
 * `message` beside them. 64-bit integers are numbers, enums names.
 */
export interface ValueRules {
  readonly [kind: string]: KindRules | undefined;
}

export interface KindRules {
  readonly [rule: string]: unknown;
}

let loaded: ReadonlyMap<string, MessageRules> | undefined;

/** The rules of every message, by full name; read on first use. */
export function messageRules(): ReadonlyMap<string, MessageRules> {
  if (loaded === undefined) {
    const text = readFileSync(new URL('../gen/rules.json', import.meta.url), 'utf8');
    loaded = new Map(Object.entries(JSON.parse(text) as Record<string, MessageRules>));
  }
  return loaded;
}
