/** Whether a signed part of an OCSP response is written so that proxies, which read it again, agree: a signer may be hostile. */

const [GENERALIZED_TIME, SEQUENCE, RESPONDER_BY_NAME, RESPONDER_BY_KEY] = [0x18, 0x30, 0xa1, 0xa2];
const CONSTRUCTED = 0x20;
const MAX_DEPTH = 32;

/** @param bytes a ResponseData; with a version it is refused, since the only one there is, is written by leaving it out. */
export function isPlainResponseData(bytes: Uint8Array): boolean {
  const [whole, ...more] = plainElements(bytes, 0) ?? [];
  const [first] = (whole && plainElements(whole.content, 0)) ?? [];
  return (
    whole?.tag === SEQUENCE &&
    more.length === 0 &&
    (first?.tag === RESPONDER_BY_NAME || first?.tag === RESPONDER_BY_KEY)
  );
}

interface Element {
  readonly tag: number;
  readonly content: Uint8Array;
}

/** The elements that stand one after another in DER, or `undefined`: lengths definite and as short as can be, times in whole seconds of UTC. */
function plainElements(bytes: Uint8Array, depth: number): Element[] | undefined {
  const elements: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at] ?? 0;
    const length = plainLength(bytes, at + 1);
    if (depth > MAX_DEPTH || (tag & 0x1f) === 0x1f || length === undefined) return undefined;
    const end = length.start + length.value;
    if (end > bytes.length) return undefined;
    const content = bytes.subarray(length.start, end);
    if ((tag & CONSTRUCTED) !== 0 && plainElements(content, depth + 1) === undefined) return undefined;
    if (tag === GENERALIZED_TIME && !/^\d{14}Z$/.test(Buffer.from(content).toString('latin1'))) return undefined;
    elements.push({ tag, content });
    at = end;
  }
  return elements;
}

function plainLength(bytes: Uint8Array, at: number): { readonly value: number; readonly start: number } | undefined {
  const first = bytes[at];
  if (first === undefined || first === 0x80 || first > 0x83) return undefined;
  if (first < 0x80) return { value: first, start: at + 1 };
  const start = at + 1 + (first & 0x7f);
  const value = bytes.subarray(at + 1, start).reduce((sum, byte) => sum * 256 + byte, 0);
  const isShortest = value >= 0x80 && (bytes[at + 1] ?? 0) !== 0;
  return isShortest ? { value, start } : undefined;
}
