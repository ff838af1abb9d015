/** Parses large texts in a thread of its own, within bounds: whatever a file holds, this thread goes on and memory lasts. */
import { Worker } from 'node:worker_threads';
import { isLarge, type ParsedDocument, type ParseTexts, parseHere } from './parse.ts';
import type { ParseWork } from './parse-worker.ts';

export interface ParseLimits {
  /** Milliseconds, for all texts together. */
  readonly time: number;
  /** Of the thread's heap, in MiB. */
  readonly memory: number;
}

/** A list of some thousand objects takes seconds, and a hundred times its size in memory. */
const LIMITS: ParseLimits = { time: 30_000, memory: 1024 };

export interface LargeParser {
  /** One call after another. Texts that break a limit give documents with a fault. Rejects when the parser is closed. */
  readonly parse: ParseTexts;
  close(): Promise<void>;
}

/** @param onThread called whenever a thread has begun */
export function createLargeParser(limits: ParseLimits = LIMITS, onThread: () => void = () => {}): LargeParser {
  const closed = new AbortController();
  let queue: Promise<unknown> = Promise.resolve();
  return {
    parse(texts, namespace) {
      if (!isLarge(texts.join(''))) return parseHere(texts, namespace);
      const result = queue.then(() => {
        const parsed = parseInThread({ texts, namespace }, limits, closed.signal);
        onThread();
        return parsed;
      });
      queue = result.catch(() => {});
      return result;
    },
    async close() {
      closed.abort(new Error('the parser is closed'));
      await queue;
    },
  };
}

async function parseInThread(
  work: ParseWork,
  limits: ParseLimits,
  closed: AbortSignal,
): Promise<readonly ParsedDocument[]> {
  closed.throwIfAborted();
  const worker = new Worker(workerModule(), {
    workerData: work,
    resourceLimits: { maxOldGenerationSizeMb: limits.memory },
  });
  const { promise, resolve, reject } = Promise.withResolvers<readonly ParsedDocument[]>();
  const refuse = (message: string) => resolve(work.texts.map((text) => faulty(text, message)));
  const abort = () => reject(closed.reason as Error);
  const timer = setTimeout(() => refuse(`Parsing takes longer than ${limits.time / 1000} s`), limits.time);
  closed.addEventListener('abort', abort);
  worker.once('message', resolve);
  worker.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') reject(error);
    else refuse(`Parsing takes more than ${limits.memory} MiB of memory`);
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    closed.removeEventListener('abort', abort);
    await worker.terminate();
  }
}

function faulty(text: string, message: string): ParsedDocument {
  return { text, entries: [], fault: { message, position: { line: 0, column: 0 } } };
}

/** The thread's module, as source or as built. */
function workerModule(): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`../files/parse-worker.${extension}`, import.meta.url);
}
