/** What Envoy does for each policy of a route. A policy without an entry here does not compile. */
import type { envoy_config_route_v3_Route as RouteMessage } from '../../gen/messages.ts';
import type { RoutePolicy } from '../../model/proxy-model.ts';
import { applyAddresses } from './addresses.ts';
import { applyAnswerRewrites } from './answer-rewrites.ts';
import { applyBodySize, applyPace, applyRequestBuffering } from './bodies.ts';
import { applyCors } from './cors.ts';
import { applyHashBy } from './hash-by.ts';
import { applyLog } from './log.ts';
import { applyMirror } from './mirror.ts';
import type { ApplyPolicy } from './policy.ts';
import { applyResponseHeaders } from './response-headers.ts';
import { applyRetries } from './retries.ts';
import { applyRewrite, applyUpstreamHost } from './rewrite.ts';
import { applyStandsInFor } from './stands-in-for.ts';
import { applyTimeouts } from './timeouts.ts';
import { applyTracing } from './tracing.ts';

/** In the order in which they are applied: what stands later sees, and may multiply, what those before have made. */
const policies: { readonly [K in keyof Required<RoutePolicy>]: ApplyPolicy<NonNullable<RoutePolicy[K]>> } = {
  // First, since a target that is a URL leaves nothing that leads to a backend.
  rewrite: applyRewrite,
  upstreamHost: applyUpstreamHost,
  bodySize: applyBodySize,
  requestBuffering: applyRequestBuffering,
  // Envoy passes answers on as they come; what its clusters take of headers is theirs.
  answerBuffering: (_, routes) => routes,
  pace: applyPace,
  timeouts: applyTimeouts,
  log: applyLog,
  retries: applyRetries,
  addresses: applyAddresses,
  hashBy: applyHashBy,
  mirror: applyMirror,
  // After all others, since each cluster of a route has sessions of its own: canaries.ts.
  affinity: (_, routes) => routes,
  // Which of the two tables redirects is decided before anything is encoded: http-view.ts.
  httpsRedirect: (_, routes) => routes,
  answerRewrites: applyAnswerRewrites,
  // Envoy writes the header by itself.
  connectionHeader: (_, routes) => routes,
  standsInFor: applyStandsInFor,
  cors: applyCors,
  // What answers by itself is traced too.
  tracing: applyTracing,
  // Last, since it holds for every answer, and counts more than what those before say of headers.
  responseHeaders: applyResponseHeaders,
};

const names = Object.keys(policies) as (keyof RoutePolicy)[];

/** The messages for a route with all its policies. */
export function applyPolicies(policy: RoutePolicy, route: RouteMessage): readonly RouteMessage[] {
  let routes: readonly RouteMessage[] = [route];
  for (const name of names) {
    const value = policy[name];
    if (value !== undefined) routes = (policies[name] as ApplyPolicy<typeof value>)(value, routes);
  }
  return routes;
}
