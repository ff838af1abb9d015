import protobuf from 'protobufjs';
import type { Messages } from '../gen/messages.ts';
import { jsonOf } from './proto-json.ts';
import { messageType, schema, typeOfUrl } from './schema.ts';
import { findUnknown } from './walk.ts';

/** Full name of a message: `envoy.config.route.v3.VirtualHost`. */
export type MessageName = keyof Messages;

interface Fields {
  readonly [name: string]: unknown;
}

let adapted = false;
let strict = false;

/**
 * Makes `encode` throw, with the paths, on what the types cannot see at run time: unknown keys that came by a spread, a string
 * for an enum, two members of a oneof. Costs a walk per message; for tests.
 */
export function setStrict(on: boolean): void {
  strict = on;
}

/**
 * Serializes a message. Equal messages give equal bytes: fields are written by number, map entries by key. A field that has
 * presence (member of a oneof, `optional`, a message such as a wrapper) is written even if it is zero; any other is left out
 * then. An Any is written as `{ '@type': URL, …fields }` or as `{ type_url, value }`. The result is the caller's to keep.
 * @throws Error for an Any of an unknown type; in strict mode also for whatever `findUnknown` reports.
 */
export function encode<N extends MessageName>(name: N, message: Messages[N]): Uint8Array {
  const type = codecType(name);
  if (strict) assertKnown(name, message);
  // finish() returns a view of a pooled buffer: what is kept must be copied, or the pool stays alive with it.
  return Uint8Array.from(type.encode(message as Fields).finish());
}

/**
 * A field of message `name` that holds one message, from encoded parts of that: fields in the order of their numbers, so that the bytes are
 * those of `encode`.
 */
export function encodeField<N extends MessageName>(
  name: N,
  field: keyof Messages[N] & string,
  ...parts: readonly Uint8Array[]
): Uint8Array {
  const { id } = codecType(name).fields[field] as protobuf.Field;
  const writer = protobuf.Writer.create();
  return Uint8Array.from(
    writer
      .uint32((id << 3) | LENGTH_DELIMITED)
      .bytes(Buffer.concat(parts))
      .finish(),
  );
}

const LENGTH_DELIMITED = 2;

/**
 * Reads a message into the form that `encode` takes. An Any of a type that the schema does not have stays `{ type_url, value }`.
 * Unknown fields are dropped.
 * @throws Error if the bytes are no such message.
 */
export function decode<N extends MessageName>(name: N, bytes: Uint8Array): Messages[N] {
  const type = codecType(name);
  // The copy makes `bytes` fields views of memory that nobody else writes.
  return type.toObject(type.decode(Uint8Array.from(bytes)), { longs: Number }) as Messages[N];
}

/**
 * Reads a message into Envoy's JSON form (that of its documentation and of `/config_dump`): snake_case names, enums by name,
 * durations as `5s`, wrappers bare, bytes in base64, 64-bit integers as strings, map entries sorted by key. Strings in
 * fields that the schema marks sensitive become `[redacted]`, unless `redact` is false.
 * @throws Error if the bytes are no such message.
 */
export function toJson(name: MessageName, bytes: Uint8Array, options: { readonly redact?: boolean } = {}): unknown {
  return jsonOf(messageType(name), decode(name, bytes), options.redact ?? true);
}

function assertKnown(name: MessageName, message: unknown): void {
  const unknown = findUnknown(name, message);
  if (unknown.length > 0) throw new Error(`not a ${name}: ${unknown.join('; ')}`);
}

function codecType(name: string): protobuf.Type {
  if (!adapted) {
    for (const type of schema().types.values()) adapt(type);
    adapted = true;
  }
  return messageType(name);
}

/**
 * Replaces what protobufjs generates for a type where it does not fit: it writes map entries in the order of insertion and
 * knows an Any only as bytes. The other types, and those that call them, keep the generated code: one walk per message.
 */
function adapt(type: protobuf.Type): void {
  const maps = type.fieldsArray.filter((field) => field instanceof protobuf.MapField).map((field) => field.name);
  const isAny = type.fullName === '.google.protobuf.Any';
  if (maps.length === 0 && !isAny) return;
  type.setup = () => {
    protobuf.Type.prototype.setup.call(type);
    if (isAny) adaptAny(type);
    else adaptMaps(type, maps);
    return type;
  };
}

/** The generated functions take the depth of recursion as their last argument; the declared ones do not name it. */
type Encode = (message: Fields, writer?: protobuf.Writer, depth?: number) => protobuf.Writer;
type ToObject = (message: protobuf.Message, options?: protobuf.IConversionOptions, depth?: number) => Fields;

function adaptMaps(type: protobuf.Type, maps: readonly string[]): void {
  const generated = type.encode as Encode;
  const sorting: Encode = (message, writer, depth) => generated(sortMaps(message, maps), writer, depth);
  type.encode = sorting as typeof type.encode;
}

function sortMaps(message: Fields, maps: readonly string[]): Fields {
  let result = message;
  for (const name of maps) {
    const map = message[name] as Fields | undefined;
    if (map == null || isSorted(Object.keys(map))) continue;
    result = {
      ...result,
      [name]: Object.fromEntries(
        Object.keys(map)
          .sort()
          .map((key) => [key, map[key]]),
      ),
    };
  }
  return result;
}

function isSorted(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) if (keys[i - 1]! > keys[i]!) return false;
  return true;
}

function adaptAny(any: protobuf.Type): void {
  const encodeRaw = any.encode as Encode;
  const readRaw = any.toObject as ToObject;

  const encodeAny: Encode = (message, writer = protobuf.Writer.create(), depth = 0) => {
    const url = message['@type'];
    if (typeof url !== 'string') return encodeRaw(message, writer, depth);
    const type = typeOfUrl(url);
    if (type === undefined) throw new Error(`an Any of the unknown type ${url}`);
    writer.uint32(typeUrlTag).string(url);
    // A writer of its own, because an empty value is not written at all, and that is known only afterwards.
    const value = (type.encode as Encode)(message, protobuf.Writer.create(), depth + 1);
    return value.len === 0 ? writer : writer.uint32(valueTag).bytes(value.finish());
  };

  const readAny: ToObject = (message, options, depth = 0) => {
    const { type_url: url, value } = message as protobuf.Message & {
      readonly type_url: string;
      readonly value: Uint8Array;
    };
    const type = typeOfUrl(url);
    if (type === undefined) return readRaw(message, options, depth);
    return {
      '@type': url,
      ...(type.toObject as ToObject)(type.decode(value), options, depth + 1),
    };
  };

  any.encode = encodeAny as typeof any.encode;
  any.toObject = readAny as typeof any.toObject;
}

/** Both fields of an Any are length-delimited: `type_url` has number 1, `value` 2. */
const typeUrlTag = (1 << 3) | 2;
const valueTag = (2 << 3) | 2;
