/**
 * Protobuf's description of itself (`google/protobuf/descriptor.proto`), as far as the generator reads it, in memory.
 *
 * A set is decoded with the descriptor types that it contains itself: protobufjs has its own, but they do not know the options
 * that Envoy adds (`validate.rules`, `udpa.annotations.sensitive`) and would drop them.
 */

import protobuf from 'protobufjs';
import 'protobufjs/ext/descriptor.js';

export interface FileDescriptor {
  readonly name: string;
  readonly package: string;
  dependency: string[];
  public_dependency: number[];
  weak_dependency: number[];
  message_type: MessageDescriptor[];
  enum_type: EnumDescriptor[];
  service: ServiceDescriptor[];
  extension: FieldDescriptor[];
}

export interface MessageDescriptor {
  readonly name: string;
  field: FieldDescriptor[];
  oneof_decl: OneofDescriptor[];
  nested_type: MessageDescriptor[];
  enum_type: EnumDescriptor[];
  readonly options?: { readonly map_entry?: boolean } | null;
}

export interface FieldDescriptor {
  readonly name: string;
  readonly number: number;
  readonly label: number;
  readonly type: number;
  /** Full name with a leading dot; empty for scalars. */
  readonly type_name: string;
  /** Present, also as 0, for a member of a oneof. */
  readonly oneof_index?: number;
  readonly proto3_optional: boolean;
  readonly options?: { readonly deprecated?: boolean } | null;
}

export interface OneofDescriptor {
  readonly name: string;
  readonly options?: { readonly '.validate.required'?: boolean } | null;
}

export interface EnumDescriptor {
  readonly name: string;
  readonly value: readonly { readonly name: string; readonly number: number }[];
}

export interface ServiceDescriptor {
  readonly name: string;
  readonly method: readonly { readonly input_type: string; readonly output_type: string }[];
}

/** Values of `FieldDescriptorProto.Type` and `Label` that need a name here. */
export const fieldType = { message: 11, enum: 14 } as const;
export const repeatedLabel = 3;

export interface DescriptorSet {
  readonly files: FileDescriptor[];
  /** Serializes files of this set, options included. */
  encode(files: readonly FileDescriptor[]): Uint8Array;
}

/** Decodes a serialized `FileDescriptorSet` that contains `google/protobuf/descriptor.proto`. */
export function decodeDescriptorSet(bytes: Uint8Array): DescriptorSet {
  const root = protobuf.Root.fromDescriptor(bytes, { keepCase: true });
  const setType = root.lookupType('google.protobuf.FileDescriptorSet');
  const set = setType.decode(bytes) as protobuf.Message & { file: FileDescriptor[] };
  return { files: set.file, encode: (files) => Uint8Array.from(setType.encode({ file: files }).finish()) };
}
