import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import {
  type AnswerDifference,
  type ComparisonOptions,
  differencesOf,
  HEADERS_IGNORED_BY_DEFAULT,
  type Reply,
} from './compare-answer.ts';
import { type ComparedRequest, isSafe, parseLogLine, parseRequestLine } from './compare-requests.ts';
import { createSide, type Side } from './compare-side.ts';
import type { ArgumentsOf } from './flags/flag.ts';
import type { compareFlags } from './flags/tool-flags.ts';
import { UsageError } from './flags.ts';

export interface CompareArguments extends ArgumentsOf<typeof compareFlags> {
  readonly first: string;
  readonly second: string;
}

/** A request whose answers differ. */
interface RequestDifference extends ComparedRequest {
  readonly differences: readonly AnswerDifference[];
}

interface Comparison {
  readonly equal: number;
  readonly different: readonly RequestDifference[];
  /** Requests that were not sent, by why. */
  readonly skipped: Readonly<Record<string, number>>;
}

/** A proxy that answers nothing: nothing can be said about the other one. */
class DeadSideError extends Error {}

/** A side is dead, not different, when so many requests in a row find no connection, or get no answer on one. */
const UNREACHABLE = 3;
const SILENT = 10;

/**
 * The command `compare`: differences to the standard output. Resolves with the exit code: 0 for none, 1 for some.
 * @throws UsageError for arguments and files that cannot be; DeadSideError.
 */
export async function compare(
  args: CompareArguments,
  write: (text: string) => void = (text) => process.stdout.write(text),
): Promise<number> {
  checkArguments(args);
  const { requestTimeout, host, insecure, concurrency, ignoreBody } = args;
  const side = (name: 'first' | 'second') =>
    createSide({
      url: parseUrl(name, args[name]),
      ...(host !== undefined && { host }),
      headers: args.header.map(parseHeader),
      insecure,
      timeoutMs: requestTimeout * 1_000,
    });
  const sides = [side('first'), side('second')] as const;
  const { requests, skipped } = await readRequests(args);
  if (requests.length === 0) throw new UsageError(`no request to send${describeSkipped(skipped)}`);
  const found = await compareRequests(requests, sides, {
    ignoredHeaders: new Set([...HEADERS_IGNORED_BY_DEFAULT, ...args.ignoreHeader.map((name) => name.toLowerCase())]),
    ignoreBody,
    origins: [sides[0].origin, sides[1].origin],
    concurrency,
  });
  const comparison: Comparison = { ...found, skipped };
  write(args.output === 'json' ? `${JSON.stringify(comparison, null, 2)}\n` : describe(comparison));
  return comparison.different.length === 0 ? 0 : 1;
}

/**
 * Sends every request to both sides; what differs comes in the order of the requests.
 * @throws DeadSideError when one side answers nothing any more.
 */
async function compareRequests(
  requests: readonly ComparedRequest[],
  sides: readonly [Side, Side],
  { concurrency, ...options }: ComparisonOptions & { readonly concurrency: number },
): Promise<Omit<Comparison, 'skipped'>> {
  const different = new Map<number, RequestDifference>();
  let equal = 0;
  let next = 0;
  const watches = [new Watch(sides[0], requests.length), new Watch(sides[1], requests.length)] as const;
  let dead: DeadSideError | undefined;

  const worker = async () => {
    while (next < requests.length && dead === undefined) {
      const index = next++;
      const request = requests[index]!;
      const [first, second] = await Promise.all([sides[0].send(request), sides[1].send(request)]);
      dead ??= watches[0].of(first) ?? watches[1].of(second);
      const differences = differencesOf(first, second, options);
      if (differences.length === 0) equal += 1;
      else different.set(index, { ...request, differences });
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, requests.length) }, worker));
  if (dead !== undefined) throw dead;
  const inOrder = [...different].toSorted(([a], [b]) => a - b).map(([, difference]) => difference);
  return { equal, different: inOrder };
}

/** Counts what one side leaves unanswered in a row. */
class Watch {
  private readonly side: Side;
  private readonly requests: number;
  private answered = 0;
  private unreachable = 0;
  private silent = 0;

  constructor(side: Side, requests: number) {
    this.side = side;
    this.requests = requests;
  }

  of(reply: Reply): DeadSideError | undefined {
    if (!('failure' in reply)) {
      this.answered += 1;
      this.unreachable = 0;
      this.silent = 0;
      return undefined;
    }
    this.silent += 1;
    this.unreachable = reply.connected ? 0 : this.unreachable + 1;
    if (this.silent < SILENT && this.unreachable < Math.min(UNREACHABLE, this.requests)) return undefined;
    const before = this.answered === 0 ? '' : ` any more, after ${this.answered} answers`;
    return new DeadSideError(`${this.side.origin} does not answer${before}: ${reply.failure}`);
  }
}

function checkArguments(args: CompareArguments): void {
  const { requests, accessLog, concurrency, requestTimeout, maxRequests, host = 'none' } = args;
  if ((requests === undefined) === (accessLog === undefined)) {
    throw new UsageError('give --requests or --access-log, one of them');
  }
  if (!/^[\x21-\x7e]+$/.test(host)) throw new UsageError(`--host=${host}: is no host`);
  checkWhole('concurrency', concurrency, 64);
  checkWhole('max-requests', maxRequests, Number.MAX_SAFE_INTEGER);
  if (!Number.isFinite(requestTimeout) || requestTimeout <= 0) {
    throw new UsageError('--request-timeout: must be a number above 0');
  }
}

function checkWhole(flag: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new UsageError(`--${flag}=${value}: must be a whole number, 1 or more${most === 64 ? ', 64 at most' : ''}`);
}

function parseUrl(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError(`${name}=${text}: must be http://HOST:PORT or https://HOST:PORT`);
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '') {
    throw new UsageError(`${name}=${text}: paths belong into the requests`);
  }
  return url;
}

const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function parseHeader(text: string): readonly [string, string] {
  const [, name, value] = /^([!#$%&'*+.^`|~\w-]+):\s*(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new UsageError(`--header=${text}: must be NAME: VALUE`);
  if (name.toLowerCase() === 'host') throw new UsageError('--header: give --host');
  if (!HEADER_VALUE.test(value)) throw new UsageError(`--header: the value of ${name} holds what no header may`);
  return [name, value];
}

/** Every request that may be sent, once. */
async function readRequests(args: CompareArguments) {
  const { accessLog, requests: list, allMethods, maxRequests } = args;
  const file = accessLog ?? list ?? '';
  const requests = new Map<string, ComparedRequest>();
  const skipped: Record<string, number> = {};
  const skip = (why: string) => {
    skipped[why] = (skipped[why] ?? 0) + 1;
  };
  let number = 0;
  for await (const line of linesOf(file)) {
    number += 1;
    if (accessLog !== undefined && line === '') continue;
    const request = accessLog === undefined ? parsed(line, `${file}:${number}`) : parseLogLine(line);
    if (request === undefined) {
      if (accessLog !== undefined) skip('no request in the line');
      continue;
    }
    const key = `${request.method} ${request.host ?? ''} ${request.path}`;
    if (!allMethods && !isSafe(request)) skip('may change something, see --all-methods');
    else if (requests.has(key)) continue;
    else if (requests.size >= maxRequests) skip('too many, see --max-requests');
    else requests.set(key, request);
  }
  return { requests: [...requests.values()], skipped };
}

function parsed(line: string, position: string): ComparedRequest | undefined {
  try {
    return parseRequestLine(line);
  } catch (error) {
    throw new UsageError(`${position}: ${(error as Error).message}`);
  }
}

async function* linesOf(file: string): AsyncIterable<string> {
  const stream = createReadStream(file, 'utf8');
  try {
    yield* createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
    if (stream.errored) throw stream.errored;
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(`${file}: ${(error as Error).message}`);
  }
}

function describe({ equal, different, skipped }: Comparison): string {
  const lines = different.flatMap(({ method, host = '', path, differences }) => [
    printable(`${method} ${host}${path}`),
    ...differences.map(({ what, first, second }) => printable(`  ${what}: ${first} | ${second}`)),
  ]);
  return `${[...lines, `${equal} equal, ${different.length} different${describeSkipped(skipped)}`].join('\n')}\n`;
}

function describeSkipped(skipped: Comparison['skipped']): string {
  const parts = Object.entries(skipped).map(([why, count]) => `${count} (${why})`);
  return parts.length === 0 ? '' : `; not sent: ${parts.join(', ')}`;
}

/** Answers may hold what a terminal would obey. */
function printable(text: string): string {
  return text.replaceAll(
    /[^\x20-\x7e…]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
