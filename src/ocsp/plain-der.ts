/** Whether a signed part of an OCSP response is written so that proxies, which read it again, agree: a signer may be hostile. */

import { type Element, strictElementsOf } from '../der.ts';

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

/** The elements that stand one after another, or `undefined` where one of them, or one inside of it, is not plain. */
function plainElements(bytes: Uint8Array, depth: number): Element[] | undefined {
  const elements = depth > MAX_DEPTH ? undefined : strictElementsOf(bytes);
  return elements?.every((element) => isPlain(element, depth)) ? elements : undefined;
}

/** Times are whole seconds of UTC. */
function isPlain({ tag, content }: Element, depth: number): boolean {
  if ((tag & CONSTRUCTED) !== 0) return plainElements(content, depth + 1) !== undefined;
  return tag !== GENERALIZED_TIME || /^\d{14}Z$/.test(Buffer.from(content).toString('latin1'));
}
