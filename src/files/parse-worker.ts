/** The thread that `large-parser.ts` starts: parses the texts it is given, and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { parseOne } from './parse.ts';

export interface ParseWork {
  readonly texts: readonly string[];
  readonly namespace: string;
}

const { texts, namespace } = workerData as ParseWork;
parentPort?.postMessage(texts.map((text) => parseOne(text, namespace)));
