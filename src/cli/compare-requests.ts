/** What `compare` sends: lines of a file of requests, or of an access log. */

export interface ComparedRequest {
  readonly method: string;
  /** With query, as it goes out. */
  readonly path: string;
  /** Absent: the one that is given for all. */
  readonly host?: string;
}

const TOKEN = /^[!#$%&'*+.^`|~\w-]+$/;
/** Any other character would have to be escaped. */
const PATH = /^\/[\x21-\xff]*$/;
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether the method asks for nothing but an answer. */
export function isSafe({ method }: ComparedRequest): boolean {
  return SAFE.has(method);
}

/**
 * `METHOD PATH`, `METHOD PATH Host: NAME` or `METHOD URL`; `undefined` for an empty line and a comment.
 * @throws Error that says what is wrong with the line.
 */
export function parseRequestLine(line: string): ComparedRequest | undefined {
  const text = line.trim();
  if (text === '' || text.startsWith('#')) return undefined;
  const [, method = '', target = '', rest = ''] = /^(\S+)\s+(\S+)\s*(.*)$/.exec(text) ?? [];
  if (method === '') throw new Error('expected METHOD PATH, as in GET /index.html');
  if (!TOKEN.test(method)) throw new Error(`${JSON.stringify(method)} is no method`);
  const [, host] = /^Host:\s*(\S+)$/i.exec(rest) ?? [];
  if (rest !== '' && host === undefined) throw new Error(`expected Host: NAME, not ${JSON.stringify(rest)}`);
  const [, hostOfUrl, pathOfUrl = ''] = /^https?:\/\/([^/?]+)(.*)$/i.exec(target) ?? [];
  const path = hostOfUrl === undefined ? target : pathOfUrl.startsWith('/') ? pathOfUrl : `/${pathOfUrl}`;
  if (!path.startsWith('/')) throw new Error(`${JSON.stringify(path)} is no path: it has to begin with a slash`);
  if (!PATH.test(path)) throw new Error(`${JSON.stringify(path)} is no path: escape what is no ASCII`);
  const named = host ?? hostOfUrl;
  if (named !== undefined && !/^[\x21-\x7e]+$/.test(named)) throw new Error(`${JSON.stringify(named)} is no host`);
  return { method, path, ...(named !== undefined && { host: named }) };
}

/** As in the formats `combined` and `upstreaminfo`, where the request stands in the first quotes behind the time. */
const LOGGED = /^\S+ - .* \[[^\]]*\] "([^" ]+) (\S+)(?: HTTP\/[\d.]+)?"/;

/** `undefined` for a line without a request that could be sent again, such as that of a connection that said nothing. */
export function parseLogLine(line: string): ComparedRequest | undefined {
  const [, method = '', logged = ''] = LOGGED.exec(line) ?? [];
  // nginx writes quotes, backslashes and what is no ASCII by number.
  const path = logged.replaceAll(/\\x([0-9A-F]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return TOKEN.test(method) && PATH.test(path) ? { method, path } : undefined;
}
