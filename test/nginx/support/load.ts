/** A standing load that tells failures on new connections from kept ones that the proxy closes before it has read a byte. */
import { Agent as HttpAgent, type RequestOptions, request } from 'node:http';
import { Agent as HttpsAgent, request as requestTls } from 'node:https';
import type { Socket } from 'node:net';

export interface LoadOptions {
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly host: string;
  /** Requests per second. */
  readonly rate: number;
}

export interface LoadReport {
  readonly requests: number;
  /** One line each. */
  readonly failures: readonly string[];
  /** Requests on kept connections that were closed at the same moment; no byte of an answer had come. Clients send them again. */
  readonly closedUnused: number;
}

export interface Load {
  /** Requests so far. */
  sent(): number;
  stop(): Promise<LoadReport>;
}

/** Of each kind, with and without TLS. */
const MAX_SOCKETS = 4;
/** That are open at once. */
export const KEPT_CONNECTIONS = 2 * MAX_SOCKETS;
const TICK_MS = 20;
const MAX_PER_TICK = 40;
const MAX_IN_FLIGHT = 100;
const TIMEOUT_MS = 10_000;

/** In turn: over new connections and kept ones, each with and without TLS. The backend must answer every path with 200. */
export function startLoad(options: LoadOptions): Load {
  const agents = {
    http: new HttpAgent({ keepAlive: true, maxSockets: MAX_SOCKETS }),
    https: new HttpsAgent({ keepAlive: true, maxSockets: MAX_SOCKETS }),
  };
  const failures: string[] = [];
  const inFlight = new Set<Promise<void>>();
  /** Kept connections that have served a request. */
  const used = new WeakSet<Socket>();
  let requests = 0;
  let closedUnused = 0;
  const begin = performance.now();

  const send = (): void => {
    const tls = requests % 2 === 1;
    const kept = requests % 4 >= 2;
    requests++;
    const way = `${kept ? 'kept' : 'new'} ${tls ? 'https' : 'http'}`;
    const agent = kept ? agents[tls ? 'https' : 'http'] : false;
    const done = get(options, { tls, agent, used })
      .then(({ status, error, reused }) => {
        if (error !== undefined && reused && /ECONNRESET|EPIPE|socket hang up/.test(`${error.code} ${error.message}`)) {
          closedUnused++;
        } else if (error !== undefined) failures.push(`${way}: ${error.message}`);
        else if (status !== 200) failures.push(`${way}: status ${status}`);
      })
      .finally(() => inFlight.delete(done));
    inFlight.add(done);
  };

  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - begin) / 1_000) * options.rate) - requests;
    for (let count = Math.min(due, MAX_PER_TICK, MAX_IN_FLIGHT - inFlight.size); count > 0; count--) send();
  }, TICK_MS);

  return {
    sent: () => requests,
    stop: async () => {
      clearInterval(timer);
      await Promise.all(inFlight);
      agents.http.destroy();
      agents.https.destroy();
      return { requests, failures, closedUnused };
    },
  };
}

interface Outcome {
  readonly status?: number;
  readonly error?: NodeJS.ErrnoException;
  /** The connection had served another request, and nothing of an answer had come. */
  readonly reused: boolean;
}

interface Way {
  readonly tls: boolean;
  readonly agent: HttpAgent | HttpsAgent | false;
  readonly used: WeakSet<Socket>;
}

function get(target: LoadOptions, { tls, agent, used }: Way): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const options: RequestOptions = { host: '127.0.0.1', path: '/load', agent, headers: { host: target.host } };
  const outgoing = tls
    ? requestTls({ ...options, port: target.httpsPort, servername: target.host, rejectUnauthorized: false })
    : request({ ...options, port: target.httpPort });
  outgoing.setTimeout(TIMEOUT_MS, () => outgoing.destroy(new Error('no answer')));
  let reused = false;
  outgoing.on('socket', (socket) => {
    reused = used.has(socket);
  });
  outgoing.on('response', (response) => {
    used.add(response.socket);
    response.resume();
    response.on('end', () => resolve({ status: response.statusCode ?? 0, reused: false }));
    response.on('error', (error) => resolve({ error, reused: false }));
  });
  outgoing.on('error', (error) => resolve({ error, reused }));
  outgoing.end();
  return promise;
}
