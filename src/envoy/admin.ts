import { request } from 'node:http';

/** What clients do at this moment; the admin interface itself does not count. */
export interface Traffic {
  /** Open connections of clients, of every kind. */
  readonly connections: number;
  /** Those of them that speak HTTP. */
  readonly httpConnections: number;
  /** HTTP requests in flight; a WebSocket is one as long as it is open. */
  readonly requests: number;
}

/** Client of Envoy's admin interface. Every call rejects with an `AdminError` when Envoy does not answer. */
export interface EnvoyAdmin {
  /** Whether Envoy has its first configuration and does not drain. Never rejects: no answer is `false`. */
  ready(): Promise<boolean>;
  /** Names of the listeners that take connections: not of those that still wait for something, such as a certificate. */
  activeListeners(): Promise<readonly string[]>;
  traffic(): Promise<Traffic>;
  /** From now on `ready` is false and every answer asks its client to close the connection; new ones are still taken. */
  failHealthCheck(): Promise<void>;
  /** Closes the listening sockets at once. Open connections live on. */
  drainListeners(): Promise<void>;
}

export class AdminError extends Error {
  override readonly name = 'AdminError';
}

export interface AdminOptions {
  /** Path of the Unix socket. */
  readonly socketPath: string;
  /** How long one answer may take. Default: 5,000. */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 5_000;

/** https://www.envoyproxy.io/docs/envoy/v1.40.0/operations/admin */
export function createAdmin(options: AdminOptions): EnvoyAdmin {
  return {
    ready: async () => {
      try {
        return (await call(options, 'GET', '/ready')).status === 200;
      } catch {
        return false;
      }
    },
    activeListeners: async () => {
      const { listener_statuses: listeners = [] } = await readJson<ListenersPage>(options, '/listeners?format=json');
      return listeners.map(({ name }) => name);
    },
    traffic: async () => {
      const stats = await readStats(options, '^(listener|http)\\..*\\.downstream_(cx|rq)_active$');
      return {
        connections: sum(stats, (name) => name.startsWith('listener.') && name.endsWith('.downstream_cx_active')),
        httpConnections: sum(stats, (name) => name.startsWith('http.') && name.endsWith('.downstream_cx_active')),
        requests: sum(stats, (name) => name.startsWith('http.') && name.endsWith('.downstream_rq_active')),
      };
    },
    failHealthCheck: () => post(options, '/healthcheck/fail'),
    drainListeners: () => post(options, '/drain_listeners'),
  };
}

/** Envoy leaves out what is empty. */
interface ListenersPage {
  readonly listener_statuses?: readonly { readonly name: string }[];
}

interface Stat {
  readonly name: string;
  readonly value: number;
}

async function readStats(options: AdminOptions, filter: string): Promise<readonly Stat[]> {
  const path = `/stats?format=json&filter=${encodeURIComponent(filter)}`;
  const { stats } = await readJson<{ readonly stats: readonly Partial<Stat>[] }>(options, path);
  return stats.filter((stat): stat is Stat => stat.name !== undefined && typeof stat.value === 'number');
}

async function readJson<T>(options: AdminOptions, path: string): Promise<T> {
  const { status, body } = await call(options, 'GET', path);
  if (status !== 200) throw new AdminError(`Envoy's admin interface answered ${status} to ${path}`);
  return JSON.parse(body) as T;
}

/** Each listener is counted once as a whole and once more for each worker. */
const PER_THREAD = /\.(worker_\d+|main_thread)\./;
const OF_ADMIN = /^(listener|http)\.admin\./;

function sum(stats: readonly Stat[], wanted: (name: string) => boolean): number {
  return stats
    .filter(({ name }) => wanted(name) && !PER_THREAD.test(name) && !OF_ADMIN.test(name))
    .reduce((total, { value }) => total + value, 0);
}

async function post(options: AdminOptions, path: string): Promise<void> {
  const { status } = await call(options, 'POST', path);
  if (status !== 200) throw new AdminError(`Envoy's admin interface answered ${status} to ${path}`);
}

function call(options: AdminOptions, method: string, path: string): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const fail = (cause: Error) => reject(new AdminError(`Envoy's admin interface does not answer ${path}`, { cause }));
  const outgoing = request(
    {
      socketPath: options.socketPath,
      method,
      path,
      agent: false,
      signal: AbortSignal.timeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS),
    },
    (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      response.on('error', fail);
    },
  );
  outgoing.on('error', fail);
  outgoing.end();
  return promise;
}
