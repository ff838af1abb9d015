/** One value in the encoding of certificates and keys. */
export interface Element {
  /** The first byte: class, form and number of the type. */
  readonly tag: number;
  readonly content: Uint8Array;
}

/**
 * The values that stand one after another in DER (X.690), as far as they are whole. Only for what has been parsed before, so that
 * lengths are true; types with numbers above 30 do not occur there.
 */
export function elementsOf(bytes: Uint8Array): Element[] {
  const elements: Element[] = [];
  let offset = 0;
  while (offset + 2 <= bytes.length) {
    const { length, start } = readLength(bytes, offset + 1);
    if (start + length > bytes.length) break;
    elements.push({ tag: bytes[offset] ?? 0, content: bytes.subarray(start, start + length) });
    offset = start + length;
  }
  return elements;
}

/**
 * The same for what may be odd: `undefined` unless all of it is DER, with the shortest lengths and nothing after them. Types with
 * numbers above 30 are refused.
 */
export function strictElementsOf(bytes: Uint8Array): Element[] | undefined {
  const elements: Element[] = [];
  let offset = 0;
  while (offset < bytes.length) {
    const tag = bytes[offset] ?? 0;
    const { length, start } = readLength(bytes, offset + 1);
    const lengthBytes = start - offset - 1;
    const fewest = length < 0x80 ? 1 : 1 + Math.ceil(Math.log2(length + 1) / 8);
    const isIndefinite = bytes[offset + 1] === 0x80;
    if ((tag & 0x1f) === 0x1f || isIndefinite || lengthBytes !== fewest || start + length > bytes.length)
      return undefined;
    elements.push({ tag, content: bytes.subarray(start, start + length) });
    offset = start + length;
  }
  return elements;
}

/** Up to 127 in one byte; else that byte says how many bytes follow. */
function readLength(bytes: Uint8Array, offset: number): { readonly length: number; readonly start: number } {
  const first = bytes[offset] ?? 0;
  if (first < 0x80) return { length: first, start: offset + 1 };
  const start = offset + 1 + (first & 0x7f);
  const length = bytes.subarray(offset + 1, start).reduce((sum, byte) => sum * 256 + byte, 0);
  return { length, start };
}
