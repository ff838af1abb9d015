import type { Engine, Reader, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { objectRef } from '../model/object-ref.ts';
import {
  DEFAULT_HOST,
  type HostName,
  type Route,
  type RouteAction,
  type RoutePolicy,
  type VirtualHost,
} from '../model/proxy-model.ts';
import { policyOfRedirect } from '../model/redirect-policy.ts';
import { type BackendSources, reportBackend, resolveBackend } from './backend.ts';
import { byScheme } from './by-scheme.ts';
import { reportUnmatched, resolveCanaries } from './canary.ts';
import { type Claim, canaryClaims, idleDefaultBackends, type LostClaim } from './conflicts.ts';
import type { ProxyName } from './declaration/support.ts';
import { DEFAULT_BACKEND, type DefaultBackend } from './default-backend.ts';
import { diagnose, quote } from './diagnose.ts';
import type { MergedEffects } from './effects.ts';
import type { FurtherName } from './further-names.ts';
import { GLOBAL, type GlobalOptions } from './global-options.ts';
import { derivePlainAliases, type HostNames, namesOfAlias, namesOfHost } from './host-names.ts';
import { hostPaths, type Place, rewritesRest } from './host-paths.ts';
import { reportPaths } from './host-report.ts';
import { canariesOf, type HostIndex, ingressesOf } from './ingresses-by-host.ts';
import { HEALTHY, NOT_FOUND, UNAVAILABLE } from './pages.ts';
import type { HostPassthrough } from './passthrough.ts';
import { policyOfPath } from './path-policy.ts';
import { literalBeginning, pathRewrite, patternProblem } from './path-rewrite.ts';
import { appRootAction, redirectAction, redirectingHost } from './redirects.ts';
import type { ServedIngress } from './served-ingress.ts';
import { withStandIn } from './stand-in.ts';
import type { HostTls } from './tls.ts';

export interface VirtualHostSources extends BackendSources {
  readonly hosts: HostIndex;
  readonly hostTls: Table<HostTls>;
  readonly passthrough: Table<HostPassthrough>;
  readonly globalOptions: Table<GlobalOptions>;
  readonly defaultEffects: Table<MergedEffects>;
  readonly defaultBackend: Table<DefaultBackend>;
  readonly furtherNames: Table<FurtherName>;
  /** Of backends with a stand-in. */
  readonly availability: Table<boolean>;
  readonly httpsPort: number;
  readonly proxy: ProxyName;
}

const NO_POLICY: RoutePolicy = {};
const NO_EFFECTS = { route: NO_POLICY, host: {} };
const HEALTH_PATH = '/healthz';

/** Unit per host and further name, and one for the default server. Names that stand with another one have none of their own. */
export function deriveVirtualHosts(engine: Engine, sources: VirtualHostSources): Table<VirtualHost> {
  const { hosts, furtherNames } = sources;
  const plainAliases = derivePlainAliases(engine, furtherNames);
  const build = (host: HostName, names: HostNames, read: Reader) =>
    closedOnFailure(names, () => buildVirtualHost(host, names, read, sources));
  return engine.derive<VirtualHost>('virtual-host', [hosts.byHost, furtherNames], (name, read) => {
    if (read(hosts.byHost, name) !== undefined) return build(name, namesOfHost(name, read, plainAliases), read);
    const use = read(furtherNames, name)?.use;
    if (use === undefined) return undefined;
    if (use.kind === 'redirect') return redirectingHost(name, use);
    const names = namesOfAlias(name, use.of, read, plainAliases);
    // What there is to say about the host is said there.
    return names && { ...build(use.of, names, read), diagnostics: [] };
  });
}

/**
 * A bug must not take a host away: a wildcard host or the default server would answer for it, open or not. So every path of the
 * host answers 503 until what it reads changes.
 */
export function closedOnFailure(names: HostNames, build: () => VirtualHost): VirtualHost {
  try {
    return build();
  } catch (error) {
    const message = `the host ${names.host} could not be built, so all its paths answer 503: ${String(error)}`;
    return {
      ...names,
      routes: [{ match: { kind: 'prefix', path: '/' }, action: UNAVAILABLE, policy: NO_POLICY }],
      diagnostics: [{ severity: 'error', code: 'UnitFailed', message }],
    };
  }
}

/** What all routes of one host have in common while they are built. */
interface HostContext {
  readonly host: HostName;
  /** By which it is served: the host itself, or aliases. */
  readonly names: HostNames;
  readonly read: Reader;
  readonly sources: VirtualHostSources;
  readonly ingresses: readonly ServedIngress[];
  /** Whether it has TLS, so that plain HTTP may be redirected. */
  readonly tls: boolean;
  /** Every path is closed: something protects the whole host, or every host. */
  readonly closed: boolean;
  readonly diagnostics: Diagnostic[];
}

function buildVirtualHost(host: HostName, names: HostNames, read: Reader, sources: VirtualHostSources): VirtualHost {
  const ingresses = ingressesOf(host, read, sources.hosts);
  const diagnostics: Diagnostic[] = [];
  const protectors = ingresses.filter(protectsHost);
  const globallyClosed = (read(sources.globalOptions, GLOBAL)?.protective.length ?? 0) > 0;
  const context: HostContext = {
    host,
    names,
    read,
    sources,
    ingresses,
    tls: read(sources.hostTls, host)?.tls ?? false,
    closed: globallyClosed || protectors.length > 0,
    diagnostics,
  };
  const paths = hostPaths(host, ingresses);
  const { winners, lost, keyOf } = paths;
  const canaries = canaryClaims(host, canariesOf(host, read, sources.hosts), keyOf);
  const routes = paths.places.map((place) => claimedRoute(place, canaries.get(keyOf(place.claim)) ?? [], context));
  for (const claim of winners) canaries.delete(keyOf(claim));
  const appRoot = appRootRoute(context);
  const passthrough = read(sources.passthrough, host)?.passthrough;
  const reports = [
    ...[...canaries.values()].flat().map((claim) => reportUnmatched(host, claim)),
    ...lost.filter(({ claim }) => !claim.closed).map((conflict) => reportConflict(host, conflict)),
    ...reportIdleDefaults(host, ingresses, winners),
    ...reportPaths(host, paths),
    ...reportClosedNeighbours(context, protectors[0]),
    ...diagnostics,
  ];
  const all = [...appRoot, ...complete(routes, context)];
  return { ...names, routes: all, ...(passthrough && { passthrough }), diagnostics: reports };
}

/** @param canaries those that want a part of its requests. */
function claimedRoute({ claim, match, rewrites }: Place, canaries: readonly Claim[], context: HostContext): Route {
  const { ingress, field, backend } = claim;
  const origin = { ingress: ingress.key, field };
  const rewrite = rewrites ? pathRewrite(ingress, match.path) : undefined;
  const problem = match.kind === 'regex' ? patternProblem(match.path, rewrite, context.sources.proxy) : undefined;
  if (problem !== undefined) return unsupported(claim, { problem, match }, context);
  // A denied location answers before it redirects, as in ingress-nginx.
  if (context.closed || claim.closed || ingress.protections.length > 0)
    return { match, action: UNAVAILABLE, policy: NO_POLICY, origin };
  const redirect = ingress.catchAll ? undefined : redirectAction(ingress.host, context.names);
  const policy = policyOfPath(ingress, { path: match.path, rewrite, backend }, tlsOf(context));
  if (redirect !== undefined) return { match, action: redirect, policy: policyOfRedirect(policy), origin };
  const route = { match, action: forward(claim, canaries, context), policy, origin };
  return withStandIn(route, claim, context.read, context.sources.availability);
}

function tlsOf({ tls, sources: { httpsPort } }: HostContext) {
  return { tls, httpsPort };
}

/** What cannot be told apart from the rest must not be served by another path: all that may be meant is closed. */
function unsupported(
  { ingress, field }: Claim,
  { problem, match: { path } }: { readonly problem: string; readonly match: Route['match'] },
  { host, diagnostics }: HostContext,
): Route {
  const beginning = literalBeginning(path);
  const message = `path ${quote(path)} of host ${host} ${problem}; what begins with ${beginning} and no longer path takes answers 503`;
  diagnostics.push(
    diagnose(objectRef('Ingress', ingress.key), 'error', 'PathPatternUnsupported', message, `${field}.path`),
  );
  const match =
    beginning === '/' ? ({ kind: 'prefix', path: '/' } as const) : ({ kind: 'regex', path: beginning } as const);
  return { match, action: UNAVAILABLE, policy: NO_POLICY, origin: { ingress: ingress.key, field } };
}

/** The redirect of `/` on the host, for the first Ingress that asks for it; a closed one does not. */
function appRootRoute({ ingresses, closed }: HostContext): Route[] {
  const ingress = ingresses.find(
    ({ host, catchAll, protections }) => host.appRoot !== undefined && !catchAll && protections.length === 0,
  );
  if (closed || ingress?.host.appRoot === undefined) return [];
  const match = { kind: 'exact', path: '/' } as const;
  const origin = { ingress: ingress.key, field: 'metadata.annotations' };
  return [{ match, action: appRootAction(ingress.host.appRoot), policy: NO_POLICY, origin }];
}

function forward({ ingress, field, backend }: Claim, canaries: readonly Claim[], context: HostContext): RouteAction {
  const { read, sources, diagnostics } = context;
  const { cluster, problem } = resolveBackend(read, sources, ingress, backend);
  if (problem !== undefined) diagnostics.push(reportBackend(ingress.key, field, problem));
  if (cluster === undefined) return UNAVAILABLE;
  const resolved = canaries.length === 0 ? [] : resolveCanaries(canaries, cluster, context);
  return { kind: 'forward', ...byScheme(cluster), ...(resolved.length > 0 && { canaries: resolved }) };
}

/** Adds what every host has: an answer for every path, and on the default server the health check. */
function complete(routes: readonly Route[], context: HostContext): Route[] {
  const claims = (path: string, kind?: 'prefix') =>
    routes.some(({ match }) => match.path === path && (kind === undefined || match.kind === kind));
  const completed = [...routes];
  if (context.host === DEFAULT_HOST && !claims(HEALTH_PATH)) {
    completed.unshift({ match: { kind: 'exact', path: HEALTH_PATH }, action: HEALTHY, policy: NO_POLICY });
  }
  if (!claims('/', 'prefix')) completed.push(lastRoute(context));
  return completed;
}

/**
 * What no Ingress wants goes to the default backend service, else it is not found. In ingress-nginx the annotations of the
 * host's first Ingress apply here too, so what it protects stays closed.
 */
function lastRoute(context: HostContext): Route {
  const match = { kind: 'prefix', path: '/' } as const;
  const { read, sources, ingresses, host } = context;
  const redirect = host === DEFAULT_HOST ? undefined : redirectAction(ingresses[0]?.host ?? {}, context.names);
  const isOpen = !context.closed && ingresses[0]?.protections.length === 0;
  const effects = ingresses[0] ?? read(sources.defaultEffects, GLOBAL) ?? NO_EFFECTS;
  const rewrite = rewritesRest(effects) ? pathRewrite(effects, match.path) : undefined;
  // Sessions are kept with the backends of Ingresses alone.
  const { affinity: _, ...policy } = policyOfPath(effects, { path: match.path, rewrite }, tlsOf(context));
  if (redirect !== undefined && isOpen) return { match, action: redirect, policy: policyOfRedirect(policy) };
  const cluster = read(sources.defaultBackend, DEFAULT_BACKEND)?.cluster;
  if (cluster === undefined) return { match, action: NOT_FOUND, policy };
  const closed = context.closed || (context.ingresses[0]?.protections.length ?? 0) > 0;
  if (closed) return { match, action: UNAVAILABLE, policy: NO_POLICY };
  return { match, action: { kind: 'forward', cluster, withoutEndpoints: 404 }, policy };
}

/** Whether all paths of the host have to be closed for this Ingress, by what ingress-nginx applies to the whole host. */
function protectsHost({ protections }: ServedIngress): boolean {
  return protections.some(({ hostWide }) => hostWide);
}

/** Ingresses that are closed although they carry nothing protective themselves. */
function reportClosedNeighbours({ host, ingresses }: HostContext, protector: ServedIngress | undefined): Diagnostic[] {
  if (protector === undefined) return [];
  const keys = protector.protections.map(({ key }) => key).join(', ');
  const message = `Ingress ${protector.key} protects the whole host ${host} with ${keys}, which is not supported yet; all its paths answer 503`;
  return ingresses
    .filter(({ protections }) => protections.length === 0)
    .map(({ key }) => diagnose(objectRef('Ingress', key), 'error', 'ProtectionUnavailable', message, 'spec.rules'));
}

function reportConflict(host: HostName, { claim, winner }: LostClaim): Diagnostic {
  const { type, path } = claim;
  const message = `${type} path ${path} of host ${host} belongs to Ingress ${winner.ingress.key} (${winner.field}), which is older or comes first`;
  return diagnose(objectRef('Ingress', claim.ingress.key), 'error', 'PathConflict', message, claim.field);
}

function reportIdleDefaults(
  host: HostName,
  ingresses: readonly ServedIngress[],
  winners: readonly Claim[],
): Diagnostic[] {
  const { first, idle = [] } = idleDefaultBackends(ingresses, winners) ?? {};
  const message = `what no path of host ${host} takes belongs to Ingress ${first?.key}, which is older or comes first, so this default backend is not used there`;
  return idle.map(({ key }) =>
    diagnose(objectRef('Ingress', key), 'error', 'PathConflict', message, 'spec.defaultBackend'),
  );
}
