/** Writes the rules of the schema: what Envoy checks of a message before it looks at the meaning. */

import protobuf from 'protobufjs';
import 'protobufjs/ext/descriptor.js';
import type { FieldRules, MessageRules, ValueRules } from '../src/envoy/message-rules.ts';

interface Descriptor {
  readonly name: string;
  readonly field?: readonly { readonly name: string; readonly options?: RawOptions | null }[];
  readonly oneof_decl?: readonly { readonly name: string; readonly options?: RawOptions | null }[];
  readonly nested_type?: readonly Descriptor[];
  readonly options?: RawOptions | null;
}

interface RawOptions {
  readonly '.validate.rules'?: ValueRules;
  readonly '.validate.required'?: boolean;
  readonly '.validate.disabled'?: boolean;
  readonly '.validate.ignored'?: boolean;
  readonly '.udpa.annotations.sensitive'?: boolean;
}

/**
 * The text of `rules.json`: `MessageRules` by the full names of messages, sorted.
 *
 * @param set is decoded with the `FileDescriptorSet` that it contains: the one that protobufjs has built in does not know these
 * options, and drops them.
 */
export function writeRules(set: Uint8Array): string {
  const root = protobuf.Root.fromDescriptor(set, { keepCase: true });
  const setType = root.lookupType('google.protobuf.FileDescriptorSet');
  const { file: files } = setType.toObject(setType.decode(set), { longs: Number, enums: String }) as {
    readonly file: readonly { readonly package?: string; readonly message_type?: readonly Descriptor[] }[];
  };
  const lines: string[] = [];
  const add = (scope: string, message: Descriptor): void => {
    const name = `${scope}.${message.name}`;
    const type = root.lookup(name, protobuf.Type) as protobuf.Type | null;
    // Entries of maps are none for protobufjs.
    if (type !== null) lines.push(`${JSON.stringify(name)}:${JSON.stringify(rulesOf(type, message))}`);
    for (const nested of message.nested_type ?? []) add(name, nested);
  };
  for (const file of files) for (const message of file.message_type ?? []) add(file.package ?? '', message);
  return `{\n${lines.sort().join(',\n')}\n}\n`;
}

function rulesOf(type: protobuf.Type, message: Descriptor): MessageRules {
  const described = type.fieldsArray.map((field) => {
    const options = message.field?.find(({ name }) => name === field.name)?.options;
    return [field.name, fieldRules(field.resolve(), options ?? {})] as const;
  });
  const required = (message.oneof_decl ?? []).filter(({ options }) => options?.['.validate.required']);
  const unchecked = message.options?.['.validate.disabled'] || message.options?.['.validate.ignored'];
  return {
    fields: Object.fromEntries(described.filter(([, { rules, sensitive, message }]) => rules ?? sensitive ?? message)),
    ...(required.length > 0 && {
      requiredOneofs: Object.fromEntries(required.map(({ name }) => [name, type.oneofs[name]!.oneof])),
    }),
    ...(unchecked && { unchecked }),
  };
}

function fieldRules(field: protobuf.Field, options: RawOptions): FieldRules {
  const rules = options['.validate.rules'];
  const type = field.resolvedType;
  const isMember = field.partOf !== null && !field.partOf.isProto3Optional;
  return {
    ...(rules && { rules }),
    ...(options['.udpa.annotations.sensitive'] && { sensitive: true }),
    ...(field instanceof protobuf.MapField ? { label: 'map' } : field.repeated ? { label: 'repeated' } : {}),
    ...(type instanceof protobuf.Type && { message: type.fullName.slice(1) }),
    ...(type instanceof protobuf.Enum && rules && { enum: Object.values(type.values) }),
    ...(rules && isMember && { member: true }),
    ...(rules && !isMember && defaultOf(field)),
  };
}

function defaultOf(field: protobuf.Field): Pick<FieldRules, 'default'> {
  if (field instanceof protobuf.MapField) return { default: {} };
  if (field.repeated) return { default: [] };
  if (field.hasPresence || field.resolvedType instanceof protobuf.Type) return {};
  const value: unknown = field.typeDefault;
  // Of 64 bits it is an object.
  return { default: typeof value === 'object' && !Array.isArray(value) ? Number(value) : value };
}
