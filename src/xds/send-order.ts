/** In which order types are sent, and what must be gone before something may be removed. Data, so that it can be read at once. */
import { typeUrls } from './resource.ts';

/** Make before break: whatever is named stands before what names it. Unknown types come last. */
const sendOrder: readonly string[] = [
  typeUrls.cluster,
  typeUrls.endpoints,
  typeUrls.secret,
  typeUrls.extension,
  typeUrls.listener,
  typeUrls.routes,
  typeUrls.scopedRoutes,
];

/** What may name a resource of this type. It is not removed before these have moved on. */
const parents: Readonly<Record<string, readonly string[]>> = {
  [typeUrls.cluster]: [typeUrls.listener, typeUrls.scopedRoutes, typeUrls.routes],
  [typeUrls.endpoints]: [typeUrls.cluster],
  [typeUrls.secret]: [typeUrls.cluster, typeUrls.listener],
  [typeUrls.extension]: [typeUrls.listener],
  [typeUrls.routes]: [typeUrls.listener, typeUrls.scopedRoutes],
};

/** Types whose first request without names means nothing at all. For all others it means everything (a legacy wildcard). */
const namedOnly: ReadonlySet<string> = new Set([
  typeUrls.endpoints,
  typeUrls.secret,
  typeUrls.extension,
  typeUrls.routes,
]);

/** Types whose state-of-the-world responses hold everything that the client wants, so that it drops what they lack. */
const fullState: ReadonlySet<string> = new Set([typeUrls.cluster, typeUrls.listener, typeUrls.scopedRoutes]);

export function isFullState(typeUrl: string): boolean {
  return fullState.has(typeUrl);
}

export function sendRank(typeUrl: string): number {
  const rank = sendOrder.indexOf(typeUrl);
  return rank < 0 ? sendOrder.length : rank;
}

export function parentTypes(typeUrl: string): readonly string[] {
  return parents[typeUrl] ?? [];
}

export function allowsLegacyWildcard(typeUrl: string): boolean {
  return !namedOnly.has(typeUrl);
}
