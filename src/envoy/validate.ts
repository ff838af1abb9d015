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
import { longConfigs } from './hoist.ts';
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

/**
 * `path` is the field of Envoy's Route, or of its VirtualHost where there is no `route` (the index in the view); absent where Envoy would
 * take what we do not send.
 */
interface Fault {
  readonly route: number | undefined;
  /** Further routes with the same fault. */
  readonly also?: readonly number[];
  readonly path?: string;
  readonly rule: string;
}

/** @throws Error if not even a host that answers 503 would be taken: its name is not one that a request can carry. */
export function checkHost(view: HostView): CheckedHost {
  const made = hostMessage(view);
  const heavy = heavyFaults(made);
  if (heavy.length > 0) {
    const { diagnostics, ...checked } = checkHost(withoutFaults(view, heavy));
    return { ...checked, diagnostics: [...heavy.map((fault) => diagnose(view, fault)), ...diagnostics] };
  }
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

/** In characters of JSON; Envoy takes ten times as much memory. */
const MAX_LONG_CONFIGS = 4 * 1024 ** 2;

/**
 * A list of one Ingress stands on the host once. Of several Ingresses of a host, those of the others stand on each of their paths: too
 * long ones are closed before anything is encoded.
 */
function heavyFaults({ message, madeOf }: HostMessage): Fault[] {
  const configs = longConfigs(message.routes ?? []);
  let size = configs.reduce((sum, config) => sum + config.size, 0);
  return configs.flatMap((config): Fault[] => {
    if (size <= MAX_LONG_CONFIGS) return [];
    size -= config.size;
    const [route, ...also] = new Set(config.routes.flatMap((index) => madeOf[index] ?? []));
    const rule = 'such lists on so many paths are too much beside those of another Ingress of the host';
    return [{ route, also, rule }];
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
  const faulty = new Set(faults.flatMap(({ route, also = [] }) => [route, ...also]));
  if (faulty.has(undefined) || faults.some(({ path }) => path?.startsWith('match'))) {
    return { ...view, routes: [{ match: { kind: 'prefix', path: '/' }, action: UNAVAILABLE }] };
  }
  return {
    ...view,
    routes: view.routes.map((route, index) =>
      faulty.has(index) ? { ...route, action: UNAVAILABLE, policy: {} } : route,
    ),
  };
}

function diagnose({ host, routes }: HostView, { route, also = [], path, rule }: Fault): Diagnostic {
  const at: RouteView | undefined = route === undefined ? undefined : routes[route];
  const what = at === undefined ? `host ${host}` : `path ${at.match.path} of host ${host}`;
  const others = also.length === 0 ? 'answers' : `and ${also.length} more with the same settings answer`;
  const why = path === undefined ? rule : `Envoy would refuse ${path} (${rule})`;
  return {
    severity: 'error',
    code: 'ResourceInvalid',
    message: `${what} ${others} 503: ${why}`,
    ...(at?.origin ? { ref: objectRef('Ingress', at.origin.ingress), field: at.origin.field } : {}),
  };
}
