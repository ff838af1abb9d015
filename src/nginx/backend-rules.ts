/** What the Lua module has to know to choose among the clusters of a route, and to keep a client at its endpoint: backend.lua. */
import type { Canary } from '../model/canary.ts';
import type { Route } from '../model/proxy-model.ts';
import { cookiePath, type SessionAffinity, type SessionCookie } from '../model/session-affinity.ts';
import type { Refused } from './policies.ts';
import { logName, upstreamName } from './upstream.ts';

/** A token of the configuration that is longer than 4,096 bytes is none; quoting may take some of them. */
const MAX_LENGTH = 3_000;

/**
 * JSON, `undefined` where there is nothing to choose.
 * @param possible whether the Lua module sees the addresses of the route's cluster.
 */
export function backendRules(route: Route, possible: boolean): { readonly rules: string } | Refused | undefined {
  const { action, policy } = route;
  if (action.kind !== 'forward') return undefined;
  const { canaries = [] } = action;
  const { affinity } = policy;
  if (canaries.length === 0 && affinity === undefined) return undefined;
  if (!possible)
    return { refused: `${subject(canaries, affinity)}: only with the Lua module, and not for external names` };
  const rules = JSON.stringify({
    ...(canaries.length > 0 && { canaries: describeCanaries(canaries) }),
    ...(affinity && { session: describeSession(affinity, route) }),
  });
  if (rules.length <= MAX_LENGTH) return { rules };
  return { refused: `${subject(canaries, affinity)}: more than nginx can read in one place` };
}

function subject(canaries: readonly Canary[], affinity: SessionAffinity | undefined): string {
  const parts = [...(canaries.length > 0 ? ['canaries'] : []), ...(affinity === undefined ? [] : ['session affinity'])];
  return parts.join(' and ');
}

/** Weights as the sums up to each canary, so that one random number is compared with each. */
function describeCanaries(canaries: readonly Canary[]) {
  let sum = 0;
  return canaries.map(({ cluster, header, cookie, millionths, sticky }) => {
    sum += millionths;
    return {
      upstream: upstreamName(cluster.name),
      log: logName(`${cluster.namespace}/${cluster.service}/${cluster.port}`),
      ...(header && { header: header.name.replaceAll('-', '_'), value: header.value, pattern: header.pattern }),
      ...(cookie !== undefined && { cookie }),
      ...(millionths > 0 && { millionths: sum }),
      ...(sticky && { sticky }),
    };
  });
}

function describeSession({ mode, cookie, changeOnFailure }: SessionAffinity, { match }: Route) {
  return {
    mode,
    change: changeOnFailure,
    name: cookie.name,
    attributes: attributesOf(cookie, cookiePath(cookie, match)),
    ...(cookie.sameSite && { samesite: cookie.sameSite }),
    ...(cookie.noSameSiteFor !== undefined && { old: cookie.noSameSiteFor }),
    secure: cookie.secure,
  };
}

function attributesOf({ domain, maxAgeSeconds }: SessionCookie, path: string): string {
  return [
    `Path=${path}`,
    ...(maxAgeSeconds === undefined ? [] : [`Max-Age=${maxAgeSeconds}`]),
    ...(domain === undefined ? [] : [`Domain=${domain}`]),
    'HttpOnly',
  ].join('; ');
}
