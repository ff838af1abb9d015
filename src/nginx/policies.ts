/** What nginx does for each policy of a route. A policy without an entry here does not compile. */
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Route, RoutePolicy } from '../model/proxy-model.ts';
import type { NginxLocation } from './config.ts';
import { routeDiagnostic } from './route-diagnostic.ts';

/** What a policy adds to a location. */
export type LocationPatch = Partial<Omit<NginxLocation, 'kind' | 'path' | 'forward' | 'respond'>>;

/** Why nginx cannot do what a policy asks for; the route answers 503 where the policy protects something. */
export interface Refused {
  readonly refused: string;
}

type Handler<K extends keyof RoutePolicy> = (
  value: NonNullable<RoutePolicy[K]>,
  route: Route,
) => LocationPatch | Refused;

const handlers: { readonly [K in keyof Required<RoutePolicy>]: Handler<K> } = {
  httpsRedirect: ({ status }) => ({ httpsRedirect: status }),
};

/** All policies of a route together. */
export function policyPatch(route: Route): {
  readonly patch: LocationPatch;
  readonly diagnostics: readonly Diagnostic[];
} {
  let patch: LocationPatch = {};
  const diagnostics: Diagnostic[] = [];
  for (const name of Object.keys(route.policy) as (keyof RoutePolicy)[]) {
    const value = route.policy[name];
    if (value === undefined) continue;
    const added = handlers[name](value, route);
    if ('refused' in added) diagnostics.push(refusal(route, `${name}: ${added.refused}`));
    else patch = { ...patch, ...added };
  }
  return { patch, diagnostics };
}

function refusal(route: Route, message: string): Diagnostic {
  return routeDiagnostic(route, { severity: 'warning', code: 'IngressFeatureUnsupported', message });
}
