/** What nginx does for each policy of a route and each setting of a cluster. A policy without an entry here does not compile. */
import type { Diagnostic } from '../model/diagnostic.ts';
import type { ValueRewrite } from '../model/headers.ts';
import type { ObjectKey } from '../model/object-ref.ts';
import type { ClusterPolicy, PathRewrite, Route, RoutePolicy } from '../model/proxy-model.ts';
import { standInHeaders } from '../model/stand-in.ts';
import { type BackendFiles, backendTlsDirectives } from './backend-tls.ts';
import { bufferSizes } from './buffering.ts';
import type { NginxDirective, NginxLocation } from './config.ts';
import { grpcDirective } from './grpc.ts';
import { changedResponseHeaders, corsPatch, withoutHeaders } from './headers.ts';
import { nginxMirror } from './mirror.ts';
import { rewritePattern } from './path.ts';
import { Expanded, Literal } from './quote.ts';
import { httpsRedirect } from './redirect.ts';
import { routeDiagnostic } from './route-diagnostic.ts';
import { expanded, expandedGroups } from './variables.ts';

/** What policies need to know beside their values. */
export interface PolicyContext {
  /** Files of a Secret for TLS to backends. */
  backendFiles(secret: ObjectKey): BackendFiles;
  /** Whether nginx can find out the addresses of a host. */
  canResolve(hostname: string): boolean;
}

/** What a policy adds to a location. Directives and headers of several policies stand one after the other. */
export type LocationPatch = Partial<Omit<NginxLocation, 'kind' | 'path' | 'forward' | 'respond' | 'redirect'>>;

/** Why nginx cannot do what a policy asks for; the route answers 503 where the policy protects something. */
export interface Refused {
  readonly refused: string;
}

type Handler<K extends keyof RoutePolicy> = (
  value: NonNullable<RoutePolicy[K]>,
  route: Route,
  context: PolicyContext,
) => LocationPatch | Refused;

const handlers: { readonly [K in keyof Required<RoutePolicy>]: Handler<K> } = {
  bodySize: ({ maxBytes }) => directives(['client_max_body_size', maxBytes]),
  answerRewrites: ({ location, cookieDomain, cookiePath }) =>
    directives(
      ...rewritten('proxy_redirect', location),
      ...rewritten('proxy_cookie_domain', cookieDomain),
      ...rewritten('proxy_cookie_path', cookiePath),
    ),
  connectionHeader: (value) => ({ requestHeaders: [{ name: 'Connection', value }] }),
  cors: corsPatch,
  httpsRedirect: (redirect) => ({ httpsRedirect: httpsRedirect(redirect) }),
  // Where requests are passed on: server.ts and upstream.ts.
  hashBy: () => ({}),
  responseHeaders: changedResponseHeaders,
  requestBuffering: ({ complete, memoryBytes }) =>
    directives(['proxy_request_buffering', onOff(complete)], ['client_body_buffer_size', memoryBytes]),
  answerBuffering: (answer) => {
    const { buffer, number, busy, file } = bufferSizes(answer);
    return directives(
      ['proxy_buffering', onOff(answer.ahead)],
      ['proxy_buffer_size', buffer],
      ['proxy_buffers', number, buffer],
      ['proxy_busy_buffers_size', busy],
      ['proxy_max_temp_file_size', file],
    );
  },
  pace: ({ kilobytes, after }) =>
    directives(['limit_rate', `${kilobytes}k`], ...(after > 0 ? [['limit_rate_after', `${after}k`] as const] : [])),
  retries: ({ on, nonIdempotent, tries, withinSeconds }) =>
    directives(
      ['proxy_next_upstream', ...(on.length === 0 ? ['off'] : on), ...(nonIdempotent ? ['non_idempotent'] : [])],
      ['proxy_next_upstream_timeout', `${withinSeconds}s`],
      ['proxy_next_upstream_tries', tries],
    ),
  // The Lua module keeps sessions: backend-rules.ts.
  affinity: () => ({}),
  // No Ingress comes so far: what asks for it is refused for nginx.
  tracing: () => ({ refused: 'nginx does not trace' }),
  standsInFor: (original) => ({
    requestHeaders: standInHeaders(original).map(([name, value]) => ({ name, value: expanded(value) })),
  }),
  rewrite: rewritePatch,
  upstreamHost: (host) => ({ requestHeaders: [{ name: 'Host', value: expanded(host) }] }),
  log: logDirectives,
  mirror: (mirror, { action }, { canResolve }) => {
    const { hostname } = mirror.target;
    if (!canResolve(hostname)) return { refused: `${hostname} cannot be resolved: no DNS server is known` };
    return action.kind === 'forward' ? { mirror: nginxMirror(mirror) } : {};
  },
  timeouts: ({ readSeconds, sendSeconds }) =>
    directives(['proxy_read_timeout', `${readSeconds}s`], ['proxy_send_timeout', `${sendSeconds}s`]),
  // The first that fits decides. Redirects come before all of them.
  addresses: ({ allow, deny }) => ({
    ...directives(
      ...deny.map((network) => ['deny', network] as const),
      ...allow.map((network) => ['allow', network] as const),
      ...(allow.length > 0 ? [['deny', 'all'] as const] : []),
    ),
    limitsAddresses: true,
  }),
};

function rewritePatch({ pattern, target, redirects, forwardedPrefix }: PathRewrite): LocationPatch {
  const rewrite = {
    pattern: rewritePattern(pattern),
    replacement: expandedGroups(target),
    redirects: redirects === true,
  };
  const prefix = forwardedPrefix && expandedGroups(forwardedPrefix);
  // nginx encodes paths for backends, and groups in a URL for clients.
  const mayBreak = prefix?.holds('group') || prefix?.holds('path') || (redirects && rewrite.replacement.holds('path'));
  return {
    rewrite,
    ...(mayBreak && { refusesLineBreaks: true }),
    ...(prefix && {
      forwardedPrefix: prefix,
      requestHeaders: [{ name: 'X-Forwarded-Prefix', value: new Expanded([{ variable: 'forwarded_prefix' }]) }],
    }),
  };
}

/** `set`: variables of the format, which are empty elsewhere. */
function logDirectives({ off, ingress, rewrites }: NonNullable<RoutePolicy['log']>, { action }: Route): LocationPatch {
  const { namespace = '', service = '', port = '' } = action.kind === 'forward' ? action.cluster : {};
  const named = { namespace, ingress_name: ingress ?? '', service_name: service, service_port: port };
  return directives(
    ...(off ? [['access_log', 'off'] as const] : []),
    ...(rewrites ? [['rewrite_log', 'on'] as const] : []),
    ...(ingress === undefined
      ? []
      : Object.entries(named).map(([name, value]) => ['set', new Literal(`$${name}`), value] as const)),
  );
}

/** What nginx does for each setting of a cluster, in the locations that lead to it. */
const clusterHandlers: {
  readonly [K in keyof Required<ClusterPolicy>]: (
    value: NonNullable<ClusterPolicy[K]>,
    context: PolicyContext,
  ) => LocationPatch;
} = {
  // Of the location: `answerBuffering`.
  answerHeadersKb: () => ({}),
  httpVersion: (version) => directives(['proxy_http_version', version]),
  // Written where requests are passed on: server.ts.
  backendProtocol: () => ({}),
  backendTls: (value, { backendFiles }) => ({ directives: backendTlsDirectives(value, backendFiles(value.secret)) }),
  connectTimeoutSeconds: (value) => directives(['proxy_connect_timeout', `${value}s`]),
  // The Lua module chooses.
  cookieHash: () => ({}),
  // Where requests are passed on: server.ts and upstream.ts.
  hashBy: () => ({}),
  loadBalancing: () => ({}),
  // Of TCP services alone: stream.ts.
  proxyProtocol: () => ({}),
  // Of endpoints: src/ingress/endpoints.ts.
  serviceUpstream: () => ({}),
};

function onOff(value: boolean): string {
  return value ? 'on' : 'off';
}

function directives(...list: readonly (readonly [name: string, ...parameters: NginxDirective['parameters']])[]) {
  return { directives: list.map(([name, ...parameters]) => ({ name, parameters })) };
}

const LISTS = ['directives', 'requestHeaders', 'responseHeaders', 'hiddenHeaders'] as const;

/** All policies of a route together, those of its cluster included. */
export function policyPatch(
  route: Route,
  context: PolicyContext,
): {
  readonly patch: LocationPatch;
  readonly diagnostics: readonly Diagnostic[];
} {
  let patch: LocationPatch = {};
  const diagnostics: Diagnostic[] = [];
  const add = (added: LocationPatch) => {
    const former = withoutHeaders(patch, added);
    patch = { ...former, ...added };
    for (const list of LISTS) {
      const all = [...(former[list] ?? []), ...(added[list] ?? [])];
      if (all.length > 0) patch = { ...patch, [list]: all };
    }
  };
  for (const name of Object.keys(route.policy) as (keyof RoutePolicy)[]) {
    const value = route.policy[name];
    if (value === undefined) continue;
    const added = (handlers[name] as Handler<typeof name>)(value as never, route, context);
    if ('refused' in added) diagnostics.push(refusal(route, `${name}: ${added.refused}`));
    else add(added);
  }
  const cluster = route.action.kind === 'forward' ? (route.action.cluster.policy ?? {}) : {};
  for (const name of Object.keys(cluster) as (keyof ClusterPolicy)[]) {
    const value = cluster[name];
    if (value !== undefined) add(clusterHandlers[name](value as never, context));
  }
  return { patch: isGrpc(route) ? forGrpc(patch) : patch, diagnostics };
}

function isGrpc({ action }: Route): boolean {
  const { backendProtocol } = (action.kind === 'forward' && action.cluster.policy) || {};
  return backendProtocol === 'GRPC' || backendProtocol === 'GRPCS';
}

/** The same by the module for gRPC, which heeds no directive of another. */
function forGrpc({ directives, ...patch }: LocationPatch): LocationPatch {
  return { ...patch, ...(directives !== undefined && { directives: directives.flatMap(grpcDirective) }) };
}

/** What is asked for is not done: the route is served without it. */
export function refusal(route: Route, message: string): Diagnostic {
  return routeDiagnostic(route, { severity: 'warning', code: 'IngressFeatureUnsupported', message });
}

function rewritten(directive: string, rewrite: ValueRewrite | undefined) {
  if (rewrite === undefined) return [];
  const { from, isPattern, to } = rewrite;
  return [[directive, isPattern ? `~${from}` : from, to] as const];
}
