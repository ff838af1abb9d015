import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';
import 'protobufjs/ext/descriptor.js';

/** Prefix of every type URL in xDS. */
export const typeUrlPrefix = 'type.googleapis.com/';

interface Schema {
  readonly root: protobuf.Root;
  /** Every message by its full name, without a leading dot. */
  readonly types: ReadonlyMap<string, protobuf.Type>;
}

let loaded: Schema | undefined;

/**
 * The serialized `google.protobuf.FileDescriptorSet` of every message that this product knows: options included, files
 * sorted by name.
 */
export function readDescriptorSet(): Uint8Array {
  return readFileSync(new URL('../gen/descriptors.binpb', import.meta.url));
}

/** Envoy's schema by reflection, read on first use. Field names are as in the schema: snake_case. */
export function schema(): Schema {
  if (loaded !== undefined) return loaded;
  const root = protobuf.Root.fromDescriptor(readDescriptorSet(), { keepCase: true });
  const types = new Map<string, protobuf.Type>();
  const collect = (namespace: protobuf.NamespaceBase): void => {
    for (const nested of namespace.nestedArray) {
      if (nested instanceof protobuf.Type) types.set(fullName(nested), nested);
      if (nested instanceof protobuf.Namespace) collect(nested);
    }
  };
  collect(root);
  loaded = { root, types };
  return loaded;
}

/**
 * The message type with that full name.
 * @throws Error if the schema has none.
 */
export function messageType(name: string): protobuf.Type {
  const type = schema().types.get(name);
  if (type === undefined) throw new Error(`${name} is not in the schema`);
  return type;
}

/** The type that a type URL names, whatever stands before the last slash; `undefined` if the schema has none. */
export function typeOfUrl(url: string): protobuf.Type | undefined {
  return schema().types.get(url.slice(url.lastIndexOf('/') + 1));
}

/** The full name without the leading dot that protobufjs puts before it. */
export function fullName(object: protobuf.ReflectionObject): string {
  return object.fullName.slice(1);
}
