/** Bodies of requests, read within bounds. */
import type { IncomingMessage } from 'node:http';
import type { Reply } from './reviewer.ts';

/** A body of so many bytes, or more, is refused, as in ingress-nginx. */
const MAX_BODY_BYTES = 9 * 1024 * 1024;
/** Of all bodies that are held at one moment. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;
/** What of a body that is refused is read nevertheless, so that its sender gets to read the answer. */
const MAX_DISCARDED_BYTES = 4 * MAX_BODY_BYTES;

export type ReceivedBody =
  | { readonly kind: 'whole'; readonly bytes: Buffer; readonly held: number }
  | { readonly kind: 'refused'; readonly reply: Reply; readonly held: 0 }
  | { readonly kind: 'gone'; readonly held: 0 };

const TOO_LARGE: Reply = { status: 413, body: `a body has less than ${MAX_BODY_BYTES} bytes\n` };
const BUSY: Reply = { status: 503, body: 'too many large bodies at once\n' };

/** What is held of the body counts against the budget until the caller releases it. */
export async function receiveBody(request: IncomingMessage, budget: BodyBudget): Promise<ReceivedBody> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > MAX_DISCARDED_BYTES) return { kind: 'refused', reply: TOO_LARGE, held: 0 };
  let refusal = announced >= MAX_BODY_BYTES ? TOO_LARGE : undefined;
  let held = 0;
  let length = 0;
  let chunks: Buffer[] = [];
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > MAX_DISCARDED_BYTES) break;
      if (refusal === undefined && length >= MAX_BODY_BYTES) refusal = TOO_LARGE;
      else if (refusal === undefined && !budget.take(chunk.length)) refusal = BUSY;
      else if (refusal === undefined) {
        held += chunk.length;
        chunks.push(chunk);
        continue;
      }
      chunks = [];
      budget.release(held);
      held = 0;
    }
  } catch {
    budget.release(held);
    return { kind: 'gone', held: 0 };
  }
  if (refusal !== undefined) return { kind: 'refused', reply: refusal, held: 0 };
  return { kind: 'whole', bytes: Buffer.concat(chunks), held };
}

/** Bytes that are held for clients. */
export class BodyBudget {
  private left = MAX_HELD_BYTES;

  take(bytes: number): boolean {
    if (bytes > this.left) return false;
    this.left -= bytes;
    return true;
  }

  release(bytes: number): void {
    this.left += bytes;
  }
}
