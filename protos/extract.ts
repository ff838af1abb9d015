/**
 * Reads the Protobuf descriptors out of an Envoy binary.
 *
 * Code that protoc generates registers every schema file as a serialized `FileDescriptorProto`, which the linker keeps as it
 * is. Such a message starts with its name (field 1, tag 0x0a) and its package (field 2, tag 0x12), so each one can be found by
 * looking for `….proto` followed by 0x12.
 */

const marker = Buffer.from('.proto\x12', 'latin1');
const nameTag = 0x0a;
const fileName = /^[a-z][A-Za-z0-9_/.-]+\.proto$/;
const shortestName = 8;
const longestName = 127;

const varint = 0;
const delimited = 2;
const syntaxField = 12;

/** Wire types of the fields of FileDescriptorProto, by field number. */
const wireTypes: ReadonlyMap<number, number> = new Map([
  [1, delimited], // name
  [2, delimited], // package
  [3, delimited], // dependency
  [4, delimited], // message_type
  [5, delimited], // enum_type
  [6, delimited], // service
  [7, delimited], // extension
  [8, delimited], // options
  [9, delimited], // source_code_info
  [10, varint], // public_dependency
  [11, varint], // weak_dependency
  [syntaxField, delimited],
  [14, varint], // edition
]);
const singular = new Set([1, 2, 8, 9, syntaxField, 14]);

/** Every schema file in the binary: its name, and its serialized `google.protobuf.FileDescriptorProto`. */
export function extractDescriptors(binary: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (let at = binary.indexOf(marker); at >= 0; at = binary.indexOf(marker, at + marker.length)) {
    const nameEnd = at + marker.length - 1;
    const start = findStart(binary, nameEnd);
    if (start === undefined) continue;
    const name = binary.toString('latin1', start + 2, nameEnd);
    const descriptor = binary.subarray(start, findEnd(binary, start));
    // The name alone may also stand in a table of dependencies: the descriptor is the longest of all that look like one.
    if (descriptor.length > (files.get(name)?.length ?? 0)) files.set(name, descriptor);
  }
  return files;
}

/** The offset of the name's tag, for a name that ends at `nameEnd`: the byte before the name must be its length. */
function findStart(binary: Buffer, nameEnd: number): number | undefined {
  for (let length = shortestName; length <= longestName; length++) {
    const start = nameEnd - length - 2;
    if (start < 0) return undefined;
    if (binary[start] !== nameTag || binary[start + 1] !== length) continue;
    if (fileName.test(binary.toString('latin1', start + 2, nameEnd))) return start;
  }
  return undefined;
}

/** The message has no length of its own: it ends behind `syntax`, or where the bytes are no field of it any more. */
function findEnd(binary: Buffer, start: number): number {
  const seen = new Set<number>();
  let end = start;
  while (!seen.has(syntaxField)) {
    const tag = readVarint(binary, end);
    if (tag === undefined) return end;
    const field = tag.value >> 3;
    if (wireTypes.get(field) !== (tag.value & 7)) return end;
    if (singular.has(field) && seen.has(field)) return end;
    const value = readVarint(binary, tag.end);
    if (value === undefined) return end;
    const next = (tag.value & 7) === delimited ? value.end + value.value : value.end;
    if (next > binary.length) return end;
    seen.add(field);
    end = next;
  }
  return end;
}

function readVarint(binary: Buffer, start: number): { value: number; end: number } | undefined {
  let value = 0;
  for (let shift = 0; shift < 32; shift += 7) {
    const byte = binary[start + shift / 7];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return { value, end: start + shift / 7 + 1 };
  }
  return undefined;
}
