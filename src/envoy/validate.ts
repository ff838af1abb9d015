/**
 * What Envoy would refuse is found before it is sent. The rules in Envoy's schema are interpreted; the ones here stand in its
 * code only. A fault that belongs to one route costs that route, which then answers 503; a match that Envoy does not take cannot
 * stay in its place, so its whole host answers 503: no request must reach a wider route than the one that was meant for it.
 */
import type {
  envoy_config_route_v3_Route as RouteMessage,
  envoy_config_route_v3_VirtualHost as VirtualHostMessage,
} from '../gen/messages.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { objectRef } from '../model/object-ref.ts';
import type { HostView, RouteView } from './http-view.ts';
import { pathExpression } from './path-expression.ts';
import { isRe2 } from './re2.ts';
import { findViolations } from './schema-rules.ts';
import { type HostMessage, hostMessage } from './virtual-host.ts';

export interface CheckedHost {
  /** As it can be sent. */
  readonly message: VirtualHostMessage;
  /** As `HostMessage.routes`. */
  readonly routes: readonly RouteMessage[];
  /** One for each fault that was taken out. */
  readonly diagnostics: readonly Diagnostic[];
}

/** `path` is the field of Envoy's Route, or of its VirtualHost where there is no `route` (the index in the view). */
interface Fault {
  readonly route: number | undefined;
  readonly path: string;
  readonly rule: string;
}

/** @throws Error if not even a host that answers 503 would be taken: its name is not one that a request can carry. */
export function checkHost(view: HostView): CheckedHost {
  const made = hostMessage(view);
  const faults = [...schemaFaults(made), ...codeFaults(view)];
  if (faults.length === 0) return { ...made, diagnostics: [] };
  const reduced = hostMessage(withoutFaults(view, faults));
  const [remaining] = schemaFaults(reduced);
  if (remaining) throw new Error(`host ${view.host} would be refused by Envoy: ${remaining.path}: ${remaining.rule}`);
  return { ...reduced, diagnostics: faults.map((fault) => diagnose(view, fault)) };
}

const MESSAGE = 'envoy.config.route.v3.VirtualHost';

/** What is wrong with something that routes share is wrong with each of them. */
function schemaFaults(made: HostMessage): Fault[] {
  const faults = faultsOf(made);
  if (faults.every(({ route }) => route !== undefined)) return faults;
  const { typed_per_filter_config: _, ...message } = made.message;
  return faultsOf({ ...made, message: { ...message, routes: made.routes } });
}

function faultsOf({ message, madeOf }: HostMessage): Fault[] {
  return findViolations(MESSAGE, message).map(({ path, rule }) => {
    const inRoute = /^routes\[(\d+)\]\.(.+)$/.exec(path);
    if (inRoute === null) return { route: undefined, path, rule };
    return { route: madeOf[Number(inRoute[1])], path: inRoute[2] ?? '', rule };
  });
}

/** Envoy's default limit of a direct response's body, in bytes. */
const MAX_BODY_BYTES = 4096;

function codeFaults({ routes }: HostView): Fault[] {
  return routes.flatMap(({ match, action }, route): Fault[] => {
    if (!match.path.startsWith('/')) return [{ route, path: 'match', rule: 'a path begins with /' }];
    if (match.kind === 'regex' && !isRe2(pathExpression(match.path).match))
      return [{ route, path: 'match.safe_regex', rule: 'it is an expression of RE2' }];
    if (action.kind !== 'respond' || Buffer.byteLength(action.body) <= MAX_BODY_BYTES) return [];
    return [{ route, path: 'direct_response.body', rule: `a body has at most ${MAX_BODY_BYTES} bytes` }];
  });
}

const UNAVAILABLE = { kind: 'respond', status: 503, body: '' } as const;

function withoutFaults(view: HostView, faults: readonly Fault[]): HostView {
  const faulty = new Set(faults.map(({ route }) => route));
  if (faulty.has(undefined) || faults.some(({ path }) => path.startsWith('match'))) {
    return { ...view, routes: [{ match: { kind: 'prefix', path: '/' }, action: UNAVAILABLE }] };
  }
  return {
    ...view,
    routes: view.routes.map((route, index) =>
      faulty.has(index) ? { ...route, action: UNAVAILABLE, policy: {} } : route,
    ),
  };
}

function diagnose({ host, routes }: HostView, { route, path, rule }: Fault): Diagnostic {
  const at: RouteView | undefined = route === undefined ? undefined : routes[route];
  const what = at === undefined ? `host ${host}` : `path ${at.match.path} of host ${host}`;
  return {
    severity: 'error',
    code: 'ResourceInvalid',
    message: `${what} answers 503: Envoy would refuse ${path} (${rule})`,
    ...(at?.origin ? { ref: objectRef('Ingress', at.origin.ingress), field: at.origin.field } : {}),
  };
}
