/** The model as what a template of nginx.conf sees. */
import type { Engine, Key, Reader, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import {
  type Address,
  type BackendSecret,
  type Certificate,
  DEFAULT_CERTIFICATE,
  DEFAULT_HOST,
  type HostName,
  type ProxyModel,
  type ServerName,
  type ServerNameTarget,
} from '../model/proxy-model.ts';
import { DEFAULT_SETTINGS, SETTINGS } from '../model/settings.ts';
import { blockedClients } from './blocked.ts';
import { authoritiesFile, certificateFile, stapleFile } from './certificate-file.ts';
import { compression } from './compression.ts';
import type { NginxConfig, NginxServer, NginxSettings, NginxStream, NginxUpstream } from './config.ts';
import { mapHash, serverNamesHash } from './hash-tables.ts';
import { headersOfAll } from './headers.ts';
import { logSettings } from './logs.ts';
import { passthroughReader } from './passthrough.ts';
import { type EmittedServer, nginxServer, type ServerContext } from './server.ts';
import { forwardedSettings, listenAddresses, serverTls, tlsSettings } from './settings.ts';
import { nginxStream } from './stream.ts';
import { externalAddress, needsResolver, nginxUpstream, upstreamName } from './upstream.ts';

/** What the nginx can do that is to read the configuration. */
export interface NginxFeatures {
  /** Files of the dynamic modules that have to be loaded, in the order in which they have to be. */
  readonly modules: readonly string[];
  /** Whether it can forward TCP and UDP. */
  readonly hasStream: boolean;
  /** Whether it can compress by brotli. */
  readonly hasBrotli: boolean;
  /** Whether streams can take the address of a client from a PROXY protocol header. */
  readonly hasStreamRealIp: boolean;
  /** Whether streams can be told apart by the server name of a handshake. */
  readonly hasStreamPreread: boolean;
  /** Whether servers have the directive `http2`; else it is a parameter of `listen`. */
  readonly hasHttp2Directive: boolean;
}

export interface NginxEmitOptions {
  readonly nginx: NginxFeatures;
  readonly ipv6: boolean;
  /** File to which a line is written for each request; absent: no log. */
  readonly accessLog?: string;
  /** How many files a worker may have open. Default: the system's own limit. */
  readonly maxOpenFiles?: number;
  /** Default: one per processor. */
  readonly workerProcesses?: number;
  /** Whether backends and certificates are chosen at run time, by the Lua module. */
  readonly dynamic: boolean;
  readonly luaFolder: string;
  /** Where certificates, sockets and temporary files are. */
  readonly folder: string;
  /** Addresses of DNS servers as nginx writes them: of IPv6 in brackets, with `:port` if it is not 53. */
  readonly resolvers: readonly string[];
}

/** The only key of `NginxEmitter.config`. */
export const NGINX = 'nginx';

export interface NginxEmitter {
  /** Under the key `NGINX`: what a template sees. With `dynamic` it holds no address of a backend and no certificate. */
  readonly config: Table<NginxConfig>;
  /** Keyed by the name of an upstream: its addresses; only with `dynamic`. */
  readonly backends: Table<readonly Address[]>;
  /** Keyed by certificate name: every certificate that is served. */
  readonly certificates: Table<Certificate>;
  /** Keyed by the Secret: what is needed for TLS to backends, which nginx reads from files in any case. */
  readonly backendSecrets: Table<BackendSecret>;
  /** Under the key `https`: which certificate answers which server name; only with `dynamic`. */
  readonly serverNames: Table<readonly ServerName[]>;
  readonly diagnosticTables: readonly Table<{ readonly diagnostics: readonly Diagnostic[] }>[];
}

/** Adds the units to the engine; they run in its passes. */
export function createNginxEmitter(engine: Engine, model: ProxyModel, options: NginxEmitOptions): NginxEmitter {
  const serverNames = engine.derive<readonly ServerName[]>('nginx-server-names', ['https'], (name, read) => [
    ...(read(model.listeners, name)?.serverNames ?? []),
  ]);
  const upstreams = engine.derive('nginx-upstream', model.clusters, (name, read) => {
    const cluster = read(model.clusters, name);
    if (options.dynamic || cluster?.kind !== 'endpoints') return undefined;
    const { upstream } = read(model.settings, SETTINGS) ?? DEFAULT_SETTINGS;
    return nginxUpstream(cluster, read(model.endpoints, cluster.endpoints), upstream);
  });
  const backends = engine.derive<readonly Address[]>('nginx-backend', model.clusters, (name, read) => {
    const cluster = read(model.clusters, name);
    if (!options.dynamic || cluster?.kind !== 'endpoints') return undefined;
    return read(model.endpoints, cluster.endpoints)?.addresses ?? [];
  });
  const files = engine.derive('nginx-certificate-file', model.certificates, (name, read) => {
    const certificate = read(model.certificates, name);
    return certificate && certificateFile(options.folder, certificate);
  });
  const targetOf = targetReader(engine, serverNames);
  const passthrough = passthroughReader(engine, model, {
    folder: options.folder,
    canResolve: (hostname) => canResolve(hostname, options),
  });
  const servers = engine.derive<EmittedServer>('nginx-server', model.virtualHosts, (host, read) => {
    const context: ServerContext = {
      dynamic: options.dynamic,
      forward: (cluster) => forward(cluster, read, { model, upstreams, options }),
      canResolve: (hostname) => canResolve(hostname, options),
      tls: (name) => {
        const target = name === DEFAULT_HOST ? undefined : targetOf(name, read);
        if (target !== undefined && 'passthrough' in target) return {};
        const own = options.dynamic || target === undefined ? undefined : read(files, target.certificate);
        const certificate = read(model.certificates, target?.certificate ?? DEFAULT_CERTIFICATE);
        const staple = options.dynamic ? undefined : certificate && stapleFile(options.folder, certificate);
        return {
          ...(own !== undefined && { certificate: own }),
          ...(staple !== undefined && { staple }),
          ...(target?.tls && serverTls(target.tls)),
        };
      },
      backendFiles: (key) => {
        const { pair, authorities } = read(model.backendSecrets, key) ?? {};
        return {
          ...(pair && { pair: certificateFile(options.folder, pair) }),
          ...(authorities && { authorities: authoritiesFile(options.folder, authorities) }),
        };
      },
    };
    return nginxServer(read(model.virtualHosts, host) ?? { host, routes: [] }, context);
  });
  const allServers = all(engine, 'nginx-servers', servers, (emitted: EmittedServer) => emitted.servers);
  const allUpstreams = all(engine, 'nginx-upstreams', upstreams, (upstream: NginxUpstream) => upstream);
  const streams = engine.derive<NginxStream>('nginx-stream', model.streamListeners, (name, read) => {
    const listener = read(model.streamListeners, name);
    const cluster = listener && read(model.clusters, listener.cluster);
    if (listener === undefined || cluster === undefined) return undefined;
    if (cluster.kind === 'dns' && !canResolve(cluster.hostname, options)) return undefined;
    const endpoints = cluster.kind === 'endpoints' ? read(model.endpoints, cluster.endpoints) : undefined;
    return nginxStream(listener, cluster, endpoints);
  });
  const allStreams = all(engine, 'nginx-streams', streams, (stream: NginxStream) => stream);
  const problems = deriveProblems(engine, model, options);
  const config = engine.derive<NginxConfig>('nginx-config', [NGINX], (_, read) => {
    const found = sorted(read(allServers, ALL)).flat();
    const isDefault = ({ isDefault }: NginxServer) => isDefault;
    const sites = [...found.filter(isDefault), ...found.filter((server) => !isDefault(server))];
    const defaultFile = options.dynamic ? undefined : read(files, DEFAULT_CERTIFICATE);
    const passed = passthrough(read);
    return {
      settings: settings(read, model, options, { servers: sites, defaultFile, httpsSocket: passed?.endedSocket }),
      servers: sites,
      upstreams: usedBy(sites, sorted(read(allUpstreams, ALL))),
      streams: options.nginx.hasStream ? sorted(read(allStreams, ALL)) : [],
      ...(passed && { passthrough: passed }),
    };
  });
  return {
    config,
    backends,
    certificates: model.certificates,
    backendSecrets: model.backendSecrets,
    serverNames,
    diagnosticTables: [servers, ...problems],
  };
}

const ALL = 'all';

interface Problems {
  readonly diagnostics: readonly Diagnostic[];
}

/** What this nginx, on this machine, cannot do of what the model asks for. */
function deriveProblems(
  engine: Engine,
  { clusters, settings, streamListeners }: ProxyModel,
  options: NginxEmitOptions,
) {
  const ofStreams = engine.derive<Problems>('nginx-stream-problems', streamListeners, (name, read) => {
    const listener = read(streamListeners, name);
    if (options.nginx.hasStream || listener === undefined) return undefined;
    const { protocol, port } = listener;
    const message = `${protocol} port ${port} is closed: this nginx has no stream module (on Debian: libnginx-mod-stream)`;
    return { diagnostics: [{ severity: 'error', code: 'StreamEntryInvalid', message }] };
  });
  const ofClusters = engine.derive<Problems>('nginx-cluster-problems', clusters, (name, read) => {
    const cluster = read(clusters, name);
    if (cluster?.kind !== 'dns' || canResolve(cluster.hostname, options)) return undefined;
    const [namespace = '', service = ''] = name.split('/');
    const ref = { kind: 'Service', namespace, name: service } as const;
    const message = `${cluster.hostname} cannot be resolved: no DNS server is known (/etc/resolv.conf)`;
    return {
      diagnostics: [{ severity: 'error', code: 'ExternalNameInvalid', message, ref, field: 'spec.externalName' }],
    };
  });
  const ofSettings = engine.derive<Problems>('nginx-settings-problems', settings, (name, read) => {
    if (options.nginx.hasBrotli || read(settings, name)?.compression.brotli === undefined) return undefined;
    const message =
      'enable-brotli has no effect: this nginx has no module for brotli (on Debian: libnginx-mod-http-brotli-filter)';
    return { diagnostics: [{ severity: 'warning', code: 'ConfigMapKeyUnsupported', message }] };
  });
  return [ofStreams, ofClusters, ofSettings];
}

/** Every value of a table in one group. */
function all<V, I>(engine: Engine, name: string, from: Table<V>, item: (value: V) => I) {
  return engine.group<V, I>(name, from, (_, value) => [[ALL, item(value)]], [ALL]);
}

function sorted<I>(group: ReadonlyMap<Key, I> | undefined): I[] {
  return [...(group ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
}

/** Those of TCP and UDP services are written where they are used. */
function usedBy(servers: readonly NginxServer[], upstreams: readonly NginxUpstream[]): NginxUpstream[] {
  const used = new Set(
    servers.flatMap(({ locations }) => locations.flatMap(({ forward }) => [forward?.upstream, forward?.plainUpstream])),
  );
  return upstreams.filter(({ name }) => used.has(name));
}

/** Who answers TLS of a name of a host: the name itself counts before a wildcard. */
function targetReader(
  engine: Engine,
  serverNames: Table<readonly ServerName[]>,
): (name: HostName, read: Reader) => ServerNameTarget | undefined {
  const byName = engine.group<readonly ServerName[], ServerNameTarget>(
    'nginx-target-of-name',
    serverNames,
    (_, names) => names.map(({ name, ...target }) => [name, target]),
  );
  const find = (name: HostName, read: Reader) => [...(read(byName, name)?.values() ?? [])][0];
  return (name, read) =>
    find(name, read) ?? (name.startsWith('*.') ? undefined : find(`*${name.slice(name.indexOf('.'))}`, read));
}

function forward(
  name: string,
  read: Reader,
  {
    model,
    upstreams,
    options,
  }: {
    readonly model: ProxyModel;
    readonly upstreams: Table<NginxUpstream>;
    readonly options: NginxEmitOptions;
  },
) {
  const cluster = read(model.clusters, name);
  const upstream = upstreamName(name);
  if (cluster?.kind !== 'dns') return { upstream, available: options.dynamic || read(upstreams, name) !== undefined };
  return { upstream, available: canResolve(cluster.hostname, options), resolve: externalAddress(cluster) };
}

function canResolve(hostname: string, { resolvers }: NginxEmitOptions): boolean {
  return resolvers.length > 0 || !needsResolver(hostname);
}

function settings(
  read: Reader,
  { listeners, settings }: ProxyModel,
  options: NginxEmitOptions,
  {
    servers,
    defaultFile,
    httpsSocket,
  }: {
    readonly servers: readonly NginxServer[];
    readonly defaultFile: string | undefined;
    readonly httpsSocket: string | undefined;
  },
): NginxSettings {
  const current = read(settings, SETTINGS) ?? DEFAULT_SETTINGS;
  const { blocked, http, logs, upstream, listener, clients, streams, nginx: tuning } = current;
  // What was said when this process was started counts more than the ConfigMap.
  const { workerProcesses = tuning.workerProcesses, accessLog } = options;
  const maxOpenFiles = tuning.workerOpenFiles || (options.maxOpenFiles ?? 0);
  return {
    ...forwardedSettings(current, httpsSocket),
    tls: tlsSettings(current.tls),
    addresses: listenAddresses(listener, options),
    proxyProtocol: listener.proxyProtocol !== undefined,
    ipv6Dns: options.ipv6 && upstream.resolvesIpv6,
    generateRequestId: http.generateRequestId,
    underscoresInHeaders: http.underscoresInHeaders,
    ignoreInvalidHeaders: http.ignoresInvalidHeaders,
    blocked: blockedClients(blocked),
    compression: compression(current.compression, options.nginx.hasBrotli),
    ...headersOfAll(current),
    clients,
    kept: upstream.kept,
    httpVersion: upstream.httpVersion,
    streamTimes: streams,
    tuning,
    connectTimeout: upstream.connectTimeoutSeconds,
    loadBalancing: upstream.loadBalancing,
    httpPort: read(listeners, 'http')?.port ?? 80,
    httpsPort: read(listeners, 'https')?.port ?? 443,
    ...(httpsSocket !== undefined && { httpsSocket }),
    ...logSettings(logs, accessLog),
    maxOpenFiles,
    workerProcesses,
    http2Directive: options.nginx.hasHttp2Directive,
    streamRealIp: options.nginx.hasStreamRealIp,
    modules: options.nginx.modules,
    dynamic: options.dynamic,
    luaFolder: options.luaFolder,
    folder: options.folder,
    resolvers: options.resolvers,
    ...serverNamesHash(servers, tuning),
    ...mapHash([...blocked.userAgents, ...blocked.referers, ...(logs.requests?.skip ?? [])], tuning),
    defaultCertificate: defaultFile ?? `${options.folder}/default.pem`,
  };
}
