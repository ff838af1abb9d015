/**
 * Messages of length-delimited protobuf fields (https://protobuf.dev/programming-guides/encoding), written into one buffer of the
 * right size: a route table has megabytes, and what grows while it is written leaves several times as much to be collected.
 */

/** A field with its content; `length` counts the bytes of the content. */
export interface Field {
  readonly number: number;
  readonly length: number;
  readonly content: string | Uint8Array | readonly Field[];
}

export function text(number: number, content: string): Field {
  return { number, content, length: Buffer.byteLength(content) };
}

/** The content is not copied before it is encoded. */
export function bytes(number: number, content: Uint8Array): Field {
  return { number, content, length: content.length };
}

/** A message inside another. */
export function message(number: number, content: readonly Field[]): Field {
  return { number, content, length: sizeOf(content) };
}

/** @param fields in the order in which they are written; numbers up to 15. */
export function encodeFields(fields: readonly Field[]): Uint8Array {
  const buffer = Buffer.allocUnsafe(sizeOf(fields));
  writeFields(fields, buffer, 0);
  return buffer;
}

const LENGTH_DELIMITED = 2;

function writeFields(fields: readonly Field[], buffer: Buffer, start: number): number {
  let position = start;
  for (const { number, length, content } of fields) {
    buffer[position++] = (number << 3) | LENGTH_DELIMITED;
    position = writeVarint(length, buffer, position);
    if (typeof content === 'string') position += buffer.write(content, position);
    else if (content instanceof Uint8Array) {
      buffer.set(content, position);
      position += length;
    } else position = writeFields(content, buffer, position);
  }
  return position;
}

function sizeOf(fields: readonly Field[]): number {
  let size = 0;
  for (const { length } of fields) size += 1 + varintSize(length) + length;
  return size;
}

function writeVarint(value: number, buffer: Buffer, start: number): number {
  let position = start;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) buffer[position++] = (rest & 0x7f) | 0x80;
  buffer[position++] = rest;
  return position;
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) size++;
  return size;
}
