import { setTimeout as delay } from 'node:timers/promises';
import { AdminError, type EnvoyAdmin, type Traffic } from './admin.ts';

export interface DrainSettings {
  /** How long new connections are still taken after clients have been told: the time in which load balancers look elsewhere. */
  readonly gracePeriodMs: number;
  /** How long open connections may live on after that. */
  readonly deadlineMs: number;
  /**
   * Cuts connections that are idle: the drain is done when no request has been in flight for this long.
   * Absent: the drain waits for them, until they are closed by their clients, by the keep-alive time-out, or the deadline.
   */
  readonly quietMs?: number;
}

export interface DrainOptions extends DrainSettings {
  readonly admin: Pick<EnvoyAdmin, 'failHealthCheck' | 'drainListeners' | 'traffic'>;
  /** Ends the drain at once. */
  readonly signal: AbortSignal;
  /** Called when the listeners are closed and connections are left. */
  readonly onWaiting?: (connections: number) => void;
}

/**
 * `drained`: nothing is left that would be cut. `deadline`: `connections` of them are left. `aborted`: by the signal.
 * `unavailable`: Envoy does not answer, so it has ended or cannot be drained.
 */
export type DrainOutcome =
  | { readonly kind: 'drained' | 'aborted' | 'unavailable' }
  | { readonly kind: 'deadline'; readonly connections: number };

/**
 * Empties an Envoy; the process itself is left to the caller.
 *
 * After `/healthcheck/fail` every HTTP/1 answer carries `connection: close` and every HTTP/2 connection in use gets a GOAWAY, so the
 * listeners need no graceful drain of their own: `drain_listeners?graceful` would go on accepting for `--drain-time-s`,
 * which has to be long for the sake of changed filter chains, and with `skip_exit` for ever. Plain `drain_listeners`
 * closes the listening sockets at once and lets open connections live on.
 */
export async function drainEnvoy(options: DrainOptions): Promise<DrainOutcome> {
  const { admin, signal } = options;
  try {
    await admin.failHealthCheck();
    await delay(options.gracePeriodMs, undefined, { signal });
    await admin.drainListeners();
    return await waitForTraffic(options);
  } catch (error) {
    if (signal.aborted) return { kind: 'aborted' };
    if (error instanceof AdminError) return { kind: 'unavailable' };
    throw error;
  }
}

const FIRST_POLL_MS = 50;
/** Reading statistics costs Envoy's main thread up to tens of milliseconds when there are many clusters. */
const MAX_POLL_MS = 1_000;

async function waitForTraffic(options: DrainOptions): Promise<DrainOutcome> {
  const startedAt = performance.now();
  const deadline = startedAt + options.deadlineMs;
  const maxPollMs = Math.min(MAX_POLL_MS, (options.quietMs ?? Number.POSITIVE_INFINITY) / 4);
  let busyAt = startedAt;
  let pollMs = Math.min(FIRST_POLL_MS, maxPollMs);
  for (let first = true; ; first = false) {
    const traffic = await options.admin.traffic();
    const now = performance.now();
    if (traffic.connections === 0) return { kind: 'drained' };
    if (isBusy(traffic)) busyAt = now;
    if (options.quietMs !== undefined && now - busyAt >= options.quietMs) return { kind: 'drained' };
    if (now >= deadline) return { kind: 'deadline', connections: traffic.connections };
    if (first) options.onWaiting?.(traffic.connections);
    await delay(Math.min(pollMs, deadline - now), undefined, { signal: options.signal });
    pollMs = Math.min(pollMs * 2, maxPollMs);
  }
}

/** Of a connection that does not speak HTTP nobody knows whether it is idle. */
function isBusy({ connections, httpConnections, requests }: Traffic): boolean {
  return requests > 0 || connections > httpConnections;
}
