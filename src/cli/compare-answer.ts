/** Two answers to the same request: what of them differs. */

/** What one side says; header names in lower case. */
export interface ComparedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** Bytes of the body. */
  readonly bytes: number;
  /** SHA-256, in hexadecimal. */
  readonly bodyHash: string;
}

/** Why there is none: `connection refused`. */
export interface NoAnswer {
  readonly failure: string;
  /** Whether there was a connection at least. */
  readonly connected: boolean;
}

export type Reply = ComparedAnswer | NoAnswer;

/** One thing that differs, as each side has it. */
export interface AnswerDifference {
  /** `status`, `body`, `answer`, or the name of a header. */
  readonly what: string;
  readonly first: string;
  readonly second: string;
}

export interface ComparisonOptions {
  /** In lower case. */
  readonly ignoredHeaders: ReadonlySet<string>;
  readonly ignoreBody: boolean;
  /** `host:port` of each side, which an answer may name. */
  readonly origins: readonly [string, string];
}

/** What is of the connection, of the moment or of the single request, or follows from the body. */
export const HEADERS_IGNORED_BY_DEFAULT = [
  'age',
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
  'x-request-id',
] as const;

export function differencesOf(first: Reply, second: Reply, options: ComparisonOptions): AnswerDifference[] {
  if ('failure' in first || 'failure' in second) {
    const [a, b] = [first, second].map((reply) => ('failure' in reply ? reply.failure : `status ${reply.status}`));
    // Where neither side answers, why does not matter: a reset may be seen as an end.
    return 'failure' in first && 'failure' in second ? [] : [{ what: 'answer', first: a ?? '', second: b ?? '' }];
  }
  return [
    ...unequal('status', String(first.status), String(second.status)),
    ...differencesOfHeaders(first, second, options),
    ...(options.ignoreBody ? [] : unequal('body', bodyOf(first), bodyOf(second))),
  ];
}

function differencesOfHeaders(
  first: ComparedAnswer,
  second: ComparedAnswer,
  { ignoredHeaders, origins }: ComparisonOptions,
): AnswerDifference[] {
  const names = [...new Set([...Object.keys(first.headers), ...Object.keys(second.headers)])].toSorted();
  return names
    .filter((name) => !ignoredHeaders.has(name))
    .flatMap((name) =>
      unequal(name, shown(name, first.headers[name], origins[0]), shown(name, second.headers[name], origins[1])),
    );
}

/** A header as it is compared; `-` where it is not there. */
function shown(name: string, values: readonly string[] | undefined, origin: string): string {
  if (values === undefined) return '-';
  if (name === 'set-cookie') return values.map(withoutValue).toSorted().join(', ');
  const text = values.join(', ');
  // A side that is asked by its address names it: that is no difference.
  return name === 'location' || name === 'content-location' ? text.replace(`//${origin}`, '//[this side]') : text;
}

/** Cookies of sessions are new each time: their names and attributes are compared. */
function withoutValue(cookie: string): string {
  return cookie.replace(/^([^=;]*)=[^;]*/, '$1=…');
}

function bodyOf({ bytes, bodyHash }: ComparedAnswer): string {
  return `${bytes} bytes, ${bodyHash.slice(0, 16)}`;
}

function unequal(what: string, first: string, second: string): AnswerDifference[] {
  return first === second ? [] : [{ what, first, second }];
}
