/** Cases of behaviour as rows: a request, and what is to be seen of it on both sides. */
import { expect, test } from 'vitest';
import type { DifferenceName } from '../../parity/differences.ts';
import { type Backend, type Received, startBackend } from '../../support/backend.ts';
import type { Gateway } from '../../support/gateway.ts';
import { type Answer, send } from '../../support/http-client.ts';
import { type Manifest, service } from '../../support/manifests.ts';

/** Header names in lower case; `undefined` stands for a header that must not be there. */
export type Headers = Readonly<Record<string, string | undefined>>;

export interface Case {
  /** `http://HOST/PATH` or `https://…`: goes to the gateway's port for it, host and path as they are written. */
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  /** Server name of the handshake where it is not the host; empty for none. */
  readonly serverName?: string;
  /** What the case shows, where its values do not say it. */
  readonly because?: string;
  /** 200 if not given. */
  readonly status?: number;
  /** Name of the backend that answers; without it, that none was asked. */
  readonly backend?: string;
  /** Path and query that the backend receives. */
  readonly path?: string;
  /** Of the headers that the backend receives. */
  readonly received?: Headers;
  /** Of the headers that the client receives. */
  readonly answered?: Headers;
  /** What the body of the answer holds. */
  readonly text?: string;
  /** The name in `differences` of why the other proxy, nginx, does not do the same. */
  readonly differs?: DifferenceName;
  /** What is to be seen of nginx then; absent: the same, since the difference is in what this row does not look at. */
  readonly nginx?: Outcome;
  /** What is to be seen of nginx without its Lua module, where that is needed. */
  readonly withoutLua?: Outcome;
}

/** What is expected of a request. */
export type Outcome = Pick<Case, 'status' | 'backend' | 'path' | 'received' | 'answered' | 'text'>;

export interface Observed {
  readonly answer: Answer;
  /** Absent when no backend answered. */
  readonly received?: Received;
}

/** Sends the request of a case and says what became of it. */
export async function observe(
  gateway: Pick<Gateway, 'httpPort' | 'httpsPort'>,
  request: Omit<Case, keyof Outcome | 'differs' | 'nginx' | 'withoutLua'>,
): Promise<Observed> {
  const [, scheme, host = '', path = '/'] = /^(https?):\/\/([^/]*)(.*)$/.exec(request.url) ?? [];
  const tls = scheme === 'https';
  const { method, headers, body, serverName } = request;
  const answer = await send({
    port: tls ? gateway.httpsPort : gateway.httpPort,
    tls,
    host,
    path: path === '' ? '/' : path,
    ...(method !== undefined && { method }),
    ...(headers !== undefined && { headers }),
    ...(body !== undefined && { body }),
    ...(serverName !== undefined && { serverName }),
  });
  return isEcho(answer) ? { answer, received: JSON.parse(answer.body) as Received } : { answer };
}

/** One test per case. The gateway is asked for when the test runs. */
export function testCases(gateway: () => Gateway, cases: readonly Case[]): void {
  for (const row of cases) test(titleOf(row), () => check(gateway(), row));
}

async function check(gateway: Gateway, row: Case): Promise<void> {
  expectOutcome(await observe(gateway, row), row);
}

/** Holds what came against what is expected. */
export function expectOutcome({ answer, received }: Observed, row: Outcome): void {
  const { status = 200, backend, path, received: sent, answered, text } = row;
  expect({
    status: answer.status,
    backend: received?.backend,
    ...(path !== undefined && { path: received?.url }),
    ...(sent && { received: pick(received?.headers, sent) }),
    ...(answered && { answered: pick(answer.headers, answered) }),
  }).toEqual({
    status,
    backend,
    ...(path !== undefined && { path }),
    ...(sent && { received: sent }),
    ...(answered && { answered }),
  });
  if (text !== undefined) expect(answer.body).toContain(text);
}

/**
 * For what follows a change: Envoy accepts a configuration a moment before all of its threads, and certificates that have still to
 * be fetched, are there.
 */
export function soon<T>(value: () => Promise<T>) {
  return expect.poll(value, { timeout: 15_000, interval: 20 });
}

export interface Services {
  /** The Services with their EndpointSlices. */
  readonly manifests: readonly Manifest[];
  close(): Promise<void>;
}

/** For each name a Service with port 80 and one backend, all of that name. */
export async function startServices(...names: readonly string[]): Promise<Services> {
  const backends: readonly Backend[] = await Promise.all(names.map((name) => startBackend(name)));
  return {
    manifests: backends.flatMap((backend) => [service(backend.name), backend.slice(backend.name)]),
    close: async () => {
      await Promise.all(backends.map((backend) => backend.close()));
    },
  };
}

/** How a table starts whose manifests are those of such Services, and `others` beside them. */
export function startWith(names: readonly string[], others: () => readonly Manifest[]): () => Promise<Services> {
  return async () => {
    const { manifests, close } = await startServices(...names);
    return { close, manifests: [...manifests, ...others()] };
  };
}

function isEcho({ status, headers, body }: Answer): boolean {
  return status === 200 && headers['content-type'] === 'application/json' && body.startsWith('{"backend":');
}

function pick(headers: Readonly<Record<string, unknown>> | undefined, wanted: Headers): unknown {
  return Object.fromEntries(Object.keys(wanted).map((name) => [name, headers?.[name]]));
}

export function titleOf({ method = 'GET', url, serverName, status = 200, backend, because }: Case): string {
  const name = serverName === undefined ? '' : ` by the server name "${serverName}"`;
  const outcome = backend === undefined ? String(status) : `${status} from ${backend}`;
  return `${method} ${url}${name}: ${outcome}${because === undefined ? '' : `, ${because}`}`;
}
