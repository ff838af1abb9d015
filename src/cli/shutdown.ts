import type { DrainSettings } from '../envoy/drain.ts';
import { TERMINAL_DRAIN } from './envoy-proxy.ts';
import { type ShutdownArguments, type SourceArguments, servesCluster } from './flags.ts';

/** As long as ingress-nginx lets its old workers live (`worker-shutdown-timeout`). */
const DRAIN_TIMEOUT_S = 240;
/** As long as ingress-nginx waits for its pod to be removed. */
const POST_GRACE_S = 10;
/** The last replica takes back the addresses of all Ingresses, with an API server that may be slow. */
export const CLUSTER_STOP_MS = 15_000;

/** In a pod a preStop hook may have asked for the end; on a terminal nobody wants to wait. */
export function postGraceMs(args: ShutdownArguments & SourceArguments): number {
  const seconds = args.postShutdownGracePeriod ?? (servesCluster(args) && !onTerminal() ? POST_GRACE_S : 0);
  return seconds * 1_000;
}

export function drainSettings(args: ShutdownArguments): DrainSettings {
  const base = onTerminal() ? TERMINAL_DRAIN : { gracePeriodMs: 0, deadlineMs: DRAIN_TIMEOUT_S * 1000 };
  return {
    ...base,
    ...(args.shutdownGracePeriod > 0 && { gracePeriodMs: args.shutdownGracePeriod * 1000 }),
    ...(args.drainTimeout !== undefined && { deadlineMs: args.drainTimeout * 1000 }),
  };
}

function onTerminal(): boolean {
  return process.stdin.isTTY === true;
}
