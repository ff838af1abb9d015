import type { Diagnostic } from '../model/diagnostic.ts';
import {
  DEFAULT_HOST,
  type HostName,
  type PathMatch,
  type Route,
  type RouteAction,
  type VirtualHost,
} from '../model/proxy-model.ts';
import { backendRules } from './backend-rules.ts';
import type { NginxForward, NginxLocation, NginxRespond, NginxServer } from './config.ts';
import {
  ALWAYS_WRITABLE_BYTES,
  expressionPath,
  isWritable,
  type LocationPath,
  locationPath,
  type PathBytes,
  pathBytes,
} from './path.ts';
import { type PolicyContext, policyPatch, refusal } from './policies.ts';
import { escapeRegex, Literal, Pattern } from './quote.ts';
import { redirect } from './redirect.ts';
import { routeDiagnostic } from './route-diagnostic.ts';
import { holdsTooLong } from './token.ts';
import { logName, nginxChoice, upstreamName } from './upstream.ts';

/** What a server needs to know beside its host. */
export interface ServerContext extends PolicyContext {
  /** Where the requests of a cluster go. */
  forward(cluster: string): Pick<NginxForward, 'upstream' | 'available'> & { readonly resolve?: string };
  /** Whether the Lua module chooses addresses. */
  readonly dynamic: boolean;
  /** How the server of this name ends TLS, where not as all do. */
  tls(host: HostName): Pick<NginxServer, 'certificate' | 'staple' | 'ciphers' | 'prefersClientCiphers'>;
}

export interface EmittedServer {
  /** One; or one for each way in which names of the host have TLS, which differ in nothing else. */
  readonly servers: readonly NginxServer[];
  readonly diagnostics: readonly Diagnostic[];
}

/** One host for nginx. */
export function nginxServer(
  { host, aliases = [], routes, passthrough }: Omit<VirtualHost, 'diagnostics'>,
  context: ServerContext,
): EmittedServer {
  const isDefault = host === DEFAULT_HOST;
  const diagnostics: Diagnostic[] = [];
  const locations = reachable(routes).flatMap(({ route, bytes }) => {
    const paths = pathsOf(route.match, bytes);
    if (!paths.every(isWritable)) {
      diagnostics.push(tooLong(route));
      return [{ ...locationPath('prefix', bytes.slice(0, ALWAYS_WRITABLE_BYTES)), ...UNAVAILABLE }];
    }
    const { patch, diagnostics: ofPolicies } = policyPatch(route, context);
    diagnostics.push(...ofPolicies);
    const content = { ...actionOf(route, context, diagnostics), ...patch };
    if (holdsTooLong(content)) {
      diagnostics.push(
        routeDiagnostic(route, {
          severity: 'error',
          code: 'IngressFeatureUnsupported',
          message: 'a value is longer than nginx can read, so the path answers 503',
        }),
      );
      return paths.map((path) => ({ ...path, ...UNAVAILABLE }));
    }
    return paths.map((path) => ({ ...path, ...content }));
  });
  const namesByTls = Map.groupBy([host, ...aliases], (name) => JSON.stringify(context.tls(name)));
  const shared = {
    isDefault,
    ...(passthrough !== undefined && { passedThrough: true }),
    locations: withoutDuplicates(locations),
  };
  const servers = [...namesByTls].map(([tls, names]) => ({
    host: names[0] ?? host,
    serverNames: names.map(serverName),
    ...(JSON.parse(tls) as ReturnType<ServerContext['tls']>),
    ...shared,
  }));
  return { servers, diagnostics };
}

/** A wildcard stands for one label, which nginx's own wildcards do not. */
function serverName(host: HostName): Literal | Pattern {
  if (host === DEFAULT_HOST) return new Literal('_');
  if (!host.startsWith('*.')) return new Literal(host);
  return new Pattern(`~^[\\w-]+${escapeRegex(host.slice(1))}$`);
}

interface ReachableRoute {
  readonly route: Route;
  readonly bytes: PathBytes;
}

/**
 * The routes that a request can reach. nginx prefers the longest path whatever the order, so one that an earlier route covers must
 * not be there.
 */
function reachable(routes: readonly Route[]): readonly ReachableRoute[] {
  const prefixes: PathBytes[] = [];
  return routes.flatMap((route) => {
    if (route.match.kind === 'regex') return prefixes.includes('/') ? [] : [{ route, bytes: route.match.path }];
    const bytes = pathBytes(route.match.path);
    // nginx answers 400 to requests for it, and its configuration cannot hold it.
    if (bytes.includes('\0')) return [];
    if (prefixes.some((prefix) => covers(prefix, bytes))) return [];
    if (route.match.kind === 'prefix') prefixes.push(bytes);
    return [{ route, bytes }];
  });
}

function covers(prefix: PathBytes, path: PathBytes): boolean {
  return prefix === '/' || path === prefix || path.startsWith(`${prefix}/`);
}

/** `/foo` as a prefix is the path itself and all that begins with `/foo/`, so that `/foobar` is neither. */
function pathsOf({ kind, path }: PathMatch, bytes: PathBytes): LocationPath[] {
  if (kind === 'regex') return [expressionPath(path)];
  if (kind === 'exact') return [locationPath('exact', bytes)];
  if (bytes === '/') return [locationPath('prefix', bytes)];
  return [locationPath('exact', bytes), locationPath('prefix', `${bytes}/`)];
}

type LocationContent = Omit<NginxLocation, keyof LocationPath>;

/** In place of a path that cannot be told apart from others: it must not become open to what a wider path allows. */
const UNAVAILABLE: LocationContent = { respond: { status: 503, contentType: 'text/html' } };

function tooLong(route: Route): Diagnostic {
  const message = `the path is longer than nginx can read; everything that begins with its first ${ALWAYS_WRITABLE_BYTES} bytes answers 503`;
  return routeDiagnostic(route, { severity: 'error', code: 'IngressFeatureUnsupported', message });
}

/** Of two routes for the same location the first counts, as everywhere. */
function withoutDuplicates(locations: readonly NginxLocation[]): NginxLocation[] {
  const seen = new Set<string>();
  return locations.filter(({ kind, path }) => {
    const name = `${kind} ${path instanceof Literal ? path.text : path.source}`;
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}

function actionOf(route: Route, context: ServerContext, diagnostics: Diagnostic[]): LocationContent {
  const { action } = route;
  if (action.kind === 'respond') return { respond: respond(action) };
  if (action.kind === 'redirect') return { redirect: redirect(action) };
  const { cluster, plainCluster, withoutEndpoints = 503 } = action;
  const target = context.forward(cluster.name);
  const chosen = backendRules(route, context.dynamic && target.resolve === undefined);
  if (chosen !== undefined && 'refused' in chosen) diagnostics.push(refusal(route, chosen.refused));
  const choice = nginxChoice(cluster.policy);
  return {
    forward: {
      ...target,
      ...(plainCluster !== undefined && { plainUpstream: upstreamName(plainCluster.name) }),
      protocol: protocolOf(action),
      ownTls: cluster.policy?.backendTls !== undefined,
      ...(choice !== undefined && { choice }),
      logName: logName(cluster.name),
      statusWithoutEndpoints: withoutEndpoints,
      ...(chosen !== undefined && 'rules' in chosen && chosen),
    },
  };
}

function protocolOf({ cluster, plainCluster }: Extract<RouteAction, { kind: 'forward' }>): NginxForward['protocol'] {
  if (plainCluster !== undefined) return 'auto';
  const { backendProtocol } = cluster.policy ?? {};
  return backendProtocol === undefined ? 'http' : PROTOCOLS[backendProtocol];
}

const PROTOCOLS = { HTTPS: 'https', AUTO_HTTP: 'auto', GRPC: 'grpc', GRPCS: 'grpcs' } as const;

/** nginx's own pages are those of the model. */
function respond({ status, body }: Extract<RouteAction, { kind: 'respond' }>): NginxRespond {
  const contentType = body.startsWith('<') ? 'text/html' : 'text/plain';
  const isOwnPage = status >= 300 && body.includes('<hr><center>nginx</center>');
  return { status, contentType, ...(isOwnPage ? {} : { body }) };
}
