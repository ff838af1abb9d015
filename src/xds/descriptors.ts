/** An index over a `google.protobuf.FileDescriptorSet`: which file declares what. Files stay the bytes that they are. */
import { Reader } from 'protobufjs/minimal.js';

export interface DescriptorIndex {
  /** The encoded `FileDescriptorProto` of that name (`envoy/config/route/v3/route.proto`). */
  fileByName(name: string): Uint8Array | undefined;
  /** The file that declares a message, enum, service, method, field, enum value or oneof, by its full name. */
  fileBySymbol(symbol: string): Uint8Array | undefined;
  /** The file that declares the extension of this number of a message. */
  fileByExtension(message: string, number: number): Uint8Array | undefined;
  /** Numbers of the extensions of a message, ascending; `undefined` for a message that is not declared. */
  extensionNumbers(message: string): readonly number[] | undefined;
}

interface Index {
  readonly files: Map<string, Uint8Array>;
  readonly symbols: Map<string, Uint8Array>;
  /** Full name of the message → number → file. */
  readonly extensions: Map<string, Map<number, Uint8Array>>;
}

/** @param sets encoded descriptor sets; of a file that is in several, the first counts. Throws on bytes that are none. */
export function indexDescriptors(sets: readonly Uint8Array[]): DescriptorIndex {
  const index: Index = { files: new Map(), symbols: new Map(), extensions: new Map() };
  for (const set of sets) for (const file of fieldsOf(set).get(1) ?? []) addFile(index, file);
  return {
    fileByName: (name) => index.files.get(name),
    fileBySymbol: (symbol) => index.symbols.get(symbol),
    fileByExtension: (message, number) => index.extensions.get(message)?.get(number),
    extensionNumbers: (message) =>
      index.symbols.has(message) ? [...(index.extensions.get(message)?.keys() ?? [])].sort((a, b) => a - b) : undefined,
  };
}

/** Numbers of the fields in `google/protobuf/descriptor.proto`: each kind of declaration and what is declared inside of it. */
const inFile = { name: 1, package: 2, message: 4, enum: 5, service: 6, extension: 7 };
const inMessage = { name: 1, field: 2, message: 3, enum: 4, extension: 6, oneof: 8 };
const inEnum = { name: 1, value: 2 };
const inService = { name: 1, method: 2 };
const inField = { name: 1, extendee: 2, number: 3 };

function addFile(index: Index, file: Uint8Array): void {
  const fields = fieldsOf(file);
  const name = textOf(fields, inFile.name);
  if (index.files.has(name)) return;
  index.files.set(name, file);
  const scope = textOf(fields, inFile.package);
  for (const message of fields.get(inFile.message) ?? []) addMessage(index, file, scope, message);
  for (const declared of fields.get(inFile.enum) ?? []) addEnum(index, file, scope, declared);
  for (const service of fields.get(inFile.service) ?? []) {
    const serviceFields = fieldsOf(service);
    const serviceName = addSymbol(index, file, scope, serviceFields);
    for (const method of serviceFields.get(inService.method) ?? [])
      addSymbol(index, file, serviceName, fieldsOf(method));
  }
  for (const extension of fields.get(inFile.extension) ?? []) addExtension(index, file, scope, extension);
}

function addMessage(index: Index, file: Uint8Array, scope: string, message: Uint8Array): void {
  const fields = fieldsOf(message);
  const name = addSymbol(index, file, scope, fields);
  for (const number of [inMessage.field, inMessage.oneof]) {
    for (const member of fields.get(number) ?? []) addSymbol(index, file, name, fieldsOf(member));
  }
  for (const nested of fields.get(inMessage.message) ?? []) addMessage(index, file, name, nested);
  for (const nested of fields.get(inMessage.enum) ?? []) addEnum(index, file, name, nested);
  for (const extension of fields.get(inMessage.extension) ?? []) addExtension(index, file, name, extension);
}

/** Names of values stand beside their enum, not in it. */
function addEnum(index: Index, file: Uint8Array, scope: string, declared: Uint8Array): void {
  const fields = fieldsOf(declared);
  addSymbol(index, file, scope, fields);
  for (const value of fields.get(inEnum.value) ?? []) addSymbol(index, file, scope, fieldsOf(value));
}

function addExtension(index: Index, file: Uint8Array, scope: string, extension: Uint8Array): void {
  const fields = fieldsOf(extension);
  addSymbol(index, file, scope, fields);
  const message = textOf(fields, inField.extendee).replace(/^\./, '');
  const numbers = index.extensions.get(message) ?? new Map<number, Uint8Array>();
  index.extensions.set(message, numbers);
  numbers.set(numberOf(extension, inField.number), file);
}

/** @returns the full name. */
function addSymbol(index: Index, file: Uint8Array, scope: string, fields: Fields): string {
  const name = textOf(fields, inField.name);
  const full = scope === '' ? name : `${scope}.${name}`;
  index.symbols.set(full, file);
  return full;
}

/** Length-delimited fields by their number, each in the order of the message. */
type Fields = ReadonlyMap<number, readonly Uint8Array[]>;

const LENGTH_DELIMITED = 2;

function fieldsOf(message: Uint8Array): Fields {
  const fields = new Map<number, Uint8Array[]>();
  const reader = Reader.create(message);
  while (reader.pos < reader.len) {
    const key = reader.uint32();
    if ((key & 7) !== LENGTH_DELIMITED) reader.skipType(key & 7);
    else {
      const values = fields.get(key >>> 3) ?? [];
      fields.set(key >>> 3, values);
      values.push(reader.bytes());
    }
  }
  return fields;
}

function textOf(fields: Fields, number: number): string {
  return Buffer.from(fields.get(number)?.[0] ?? []).toString();
}

function numberOf(message: Uint8Array, number: number): number {
  const reader = Reader.create(message);
  while (reader.pos < reader.len) {
    const key = reader.uint32();
    if (key >>> 3 === number && (key & 7) === 0) return reader.uint32();
    reader.skipType(key & 7);
  }
  return 0;
}
