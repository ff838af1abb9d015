import type protobuf from 'protobufjs';
import { messageType, readDescriptorSet } from './schema.ts';

/** What Envoy's schema says about a field beyond its type. */
export interface FieldOptions {
  /** `validate.rules`. */
  readonly rules?: FieldRules;
  /** `udpa.annotations.sensitive`: must not be shown. */
  readonly sensitive?: boolean;
}

/**
 * `validate.FieldRules` of protoc-gen-validate: rules named after the kind of value (`string`, `uint32`, `repeated`, …), and
 * `message` beside them. 64-bit integers are numbers, enums names.
 */
export interface FieldRules {
  readonly [kind: string]: KindRules | undefined;
}

export interface KindRules {
  readonly [rule: string]: unknown;
}

export interface MessageOptions {
  readonly fields: ReadonlyMap<string, FieldOptions>;
  /** Names of oneofs of which one member must be set. */
  readonly requiredOneofs: readonly string[];
  /** `validate.disabled` or `validate.ignored`: Envoy checks no rule of this message. */
  readonly unchecked: boolean;
}

interface Descriptor {
  readonly name: string;
  readonly field?: readonly { readonly name: string; readonly options?: RawOptions | null }[];
  readonly oneof_decl?: readonly { readonly name: string; readonly options?: RawOptions | null }[];
  readonly nested_type?: readonly Descriptor[];
  readonly options?: RawOptions | null;
}

interface RawOptions {
  readonly '.validate.rules'?: FieldRules;
  readonly '.validate.required'?: boolean;
  readonly '.validate.disabled'?: boolean;
  readonly '.validate.ignored'?: boolean;
  readonly '.udpa.annotations.sensitive'?: boolean;
}

let loaded: ReadonlyMap<string, MessageOptions> | undefined;

/** The options of every message, by full name; read on first use. */
export function messageOptions(): ReadonlyMap<string, MessageOptions> {
  loaded ??= readOptions();
  return loaded;
}

/**
 * The set is decoded with the `FileDescriptorSet` that it contains: the one that protobufjs has built in does not know these
 * options, and drops them.
 */
function readOptions(): ReadonlyMap<string, MessageOptions> {
  const setType: protobuf.Type = messageType('google.protobuf.FileDescriptorSet');
  const set = setType.toObject(setType.decode(readDescriptorSet()), { longs: Number, enums: String }) as {
    readonly file: readonly { readonly package?: string; readonly message_type?: readonly Descriptor[] }[];
  };
  const found = new Map<string, MessageOptions>();
  const add = (scope: string, message: Descriptor): void => {
    const name = `${scope}.${message.name}`;
    found.set(name, optionsOf(message));
    for (const nested of message.nested_type ?? []) add(name, nested);
  };
  for (const file of set.file) for (const message of file.message_type ?? []) add(file.package ?? '', message);
  return found;
}

function optionsOf(message: Descriptor): MessageOptions {
  const fields = new Map<string, FieldOptions>();
  for (const { name, options } of message.field ?? []) {
    const rules = options?.['.validate.rules'];
    const sensitive = options?.['.udpa.annotations.sensitive'];
    if (rules !== undefined || sensitive) {
      fields.set(name, { ...(rules && { rules }), ...(sensitive && { sensitive }) });
    }
  }
  const required = (message.oneof_decl ?? []).filter((oneof) => oneof.options?.['.validate.required']);
  return {
    fields,
    requiredOneofs: required.map((oneof) => oneof.name),
    unchecked: Boolean(message.options?.['.validate.disabled'] || message.options?.['.validate.ignored']),
  };
}
