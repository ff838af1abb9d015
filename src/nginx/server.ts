import type { Diagnostic } from '../model/diagnostic.ts';
import { DEFAULT_HOST, type HostName, type PathMatch, type Route, type RouteAction } from '../model/proxy-model.ts';
import type { NginxForward, NginxLocation, NginxRespond, NginxServer } from './config.ts';
import { policyPatch } from './policies.ts';
import { escapeRegex, Literal, Pattern } from './quote.ts';
import { logName } from './upstream.ts';

/** What a server needs to know beside its host. */
export interface ServerContext {
  /** Where the requests of a cluster go. */
  forward(cluster: string): Pick<NginxForward, 'upstream' | 'available'> & { readonly resolve?: string };
  /** File of the certificate that answers this server name; `undefined` for the default one. */
  certificateFile(host: HostName): string | undefined;
}

export interface EmittedServer {
  readonly server: NginxServer;
  readonly diagnostics: readonly Diagnostic[];
}

/** One host as a server of nginx. */
export function nginxServer(host: HostName, routes: readonly Route[], context: ServerContext): EmittedServer {
  const isDefault = host === DEFAULT_HOST;
  const certificate = isDefault ? undefined : context.certificateFile(host);
  const diagnostics: Diagnostic[] = [];
  const locations = reachable(routes).flatMap((route) => {
    const { patch, diagnostics: ofPolicies } = policyPatch(route);
    diagnostics.push(...ofPolicies);
    return locationsOf(route.match, { ...actionOf(route.action, context), ...patch });
  });
  const server = {
    host,
    isDefault,
    serverName: serverName(host),
    ...(certificate !== undefined && { certificate }),
    locations: withoutDuplicates(locations),
  };
  return { server, diagnostics };
}

/** A wildcard stands for one label, which nginx's own wildcards do not. */
function serverName(host: HostName): Literal | Pattern {
  if (host === DEFAULT_HOST) return new Literal('_');
  if (!host.startsWith('*.')) return new Literal(host);
  return new Pattern(`~^[\\w-]+${escapeRegex(host.slice(1))}$`);
}

/**
 * The routes that a request can reach. nginx prefers the longest path whatever the order, so one that an earlier route covers must
 * not be there.
 */
function reachable(routes: readonly Route[]): readonly Route[] {
  const prefixes: string[] = [];
  return routes.filter(({ match }) => {
    const covered = prefixes.some((prefix) => covers(prefix, match.path));
    if (match.kind === 'prefix') prefixes.push(match.path);
    return !covered;
  });
}

function covers(prefix: string, path: string): boolean {
  return prefix === '/' || path === prefix || path.startsWith(`${prefix}/`);
}

/** `/foo` as a prefix is the path itself and all that begins with `/foo/`, so that `/foobar` is neither. */
function locationsOf(match: PathMatch, content: LocationContent): NginxLocation[] {
  const { path } = match;
  const exactly = { exact: true, path: new Literal(path), ...content };
  if (match.kind === 'exact') return [exactly];
  if (path === '/') return [{ exact: false, path: new Literal('/'), ...content }];
  return [exactly, { exact: false, path: new Literal(`${path}/`), ...content }];
}

type LocationContent = Omit<NginxLocation, 'exact' | 'path'>;

/** Of two routes for the same location the first counts, as everywhere. */
function withoutDuplicates(locations: readonly NginxLocation[]): NginxLocation[] {
  const seen = new Set<string>();
  return locations.filter(({ exact, path }) => {
    const name = `${exact ? '=' : ''}${path.text}`;
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}

function actionOf(action: RouteAction, context: ServerContext): LocationContent {
  if (action.kind === 'respond') return { respond: respond(action) };
  const { cluster, withoutEndpoints = 503 } = action;
  return {
    forward: {
      ...context.forward(cluster.name),
      logName: logName(cluster.name),
      statusWithoutEndpoints: withoutEndpoints,
    },
  };
}

/** nginx's own pages are those of the model. */
function respond({ status, body }: Extract<RouteAction, { kind: 'respond' }>): NginxRespond {
  const contentType = body.startsWith('<') ? 'text/html' : 'text/plain';
  const isOwnPage = status >= 300 && body.includes('<hr><center>nginx</center>');
  return { status, contentType, ...(isOwnPage ? {} : { body }) };
}
