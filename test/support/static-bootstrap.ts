import { RUNTIME } from '../../src/envoy/bootstrap.ts';
import { type MessageName, toJson } from '../../src/envoy/codec.ts';

/** A resource as it would be sent. `typeUrl` is a full one; `bytes` the message. */
export interface StaticResource {
  readonly typeUrl: string;
  readonly name: string;
  bytes(): Uint8Array;
}

export interface StaticBootstrapOptions {
  /** Unix socket of Envoy's admin interface; without it there is none. */
  readonly adminSocket?: string;
}

type Json = { [key: string]: Json } & Json[];

/** Resources in Envoy's JSON form, by kind; of each kind in any order. */
export interface StaticResources {
  readonly listeners: readonly unknown[];
  readonly extensions: readonly unknown[];
  readonly routes: readonly unknown[];
  readonly clusters: readonly unknown[];
  readonly endpoints: readonly unknown[];
  readonly secrets: readonly unknown[];
}

/**
 * A bootstrap for `envoy -c` (JSON) that holds the resources themselves: what they would ask the control plane for is written in
 * its place. Envoy then checks everything at once, without a control plane: `--mode validate`. Private keys are written out.
 * @throws Error if a resource refers to one that is not given.
 */
export function staticBootstrap(resources: Iterable<StaticResource>, options: StaticBootstrapOptions = {}): object {
  const byType = new Map<string, unknown[]>();
  for (const { typeUrl, bytes } of resources) {
    const message = typeUrl.slice(typeUrl.indexOf('/') + 1) as MessageName;
    const ofType = byType.get(message) ?? [];
    ofType.push(toJson(message, bytes(), { redact: false }));
    byType.set(message, ofType);
  }
  const all = (message: MessageName) => byType.get(message) ?? [];
  return inlineBootstrap(
    {
      listeners: all('envoy.config.listener.v3.Listener'),
      extensions: all('envoy.config.core.v3.TypedExtensionConfig'),
      routes: all('envoy.config.route.v3.RouteConfiguration'),
      clusters: all('envoy.config.cluster.v3.Cluster'),
      endpoints: all('envoy.config.endpoint.v3.ClusterLoadAssignment'),
      secrets: all('envoy.extensions.transport_sockets.tls.v3.Secret'),
    },
    options,
  );
}

/** The same from resources in JSON form. @throws Error as `staticBootstrap` */
export function inlineBootstrap(resources: StaticResources, options: StaticBootstrapOptions = {}): object {
  const find = (kind: 'routes' | 'endpoints' | 'secrets' | 'extensions', name: unknown): Json => {
    const found = (resources[kind] as readonly Json[]).find((one) => (one['name'] ?? one['cluster_name']) === name);
    if (found === undefined) throw new Error(`there are no ${kind} of the name ${name}`);
    return structuredClone(found);
  };
  const inline: Inline = {
    routes: (name) => find('routes', name),
    filterConfig: (name) => find('extensions', name)['typed_config'] as Json,
    endpoints: (name) => find('endpoints', name),
    certificate: (name) => find('secrets', name)['tls_certificate'] as Json,
    authorities: (name) => find('secrets', name)['validation_context'] as Json,
  };
  return {
    ...(options.adminSocket ? { admin: { address: { pipe: { path: options.adminSocket } } } } : {}),
    layered_runtime: { layers: [{ name: 'static', static_layer: RUNTIME }] },
    static_resources: {
      clusters: (resources.clusters as readonly Json[]).map((cluster) => staticCluster(cluster, inline)),
      listeners: (resources.listeners as readonly Json[]).map((listener) => staticListener(listener, inline)),
    },
  };
}

interface Inline {
  routes(name: unknown): Json;
  filterConfig(name: unknown): Json;
  endpoints(name: unknown): Json;
  certificate(name: unknown): Json;
  authorities(name: unknown): Json;
}

function staticCluster(cluster: Json, inline: Inline): Json {
  const copy = structuredClone(cluster);
  const socket = copy['transport_socket'];
  if (socket !== undefined && socket['name'] === ('envoy.transport_sockets.tls' as unknown))
    inlineSecrets(socket['typed_config'] as Json, inline);
  const discovery = copy['eds_cluster_config'];
  if (discovery === undefined) return copy;
  const { eds_cluster_config: _, ...rest } = copy;
  return { ...rest, type: 'STATIC', load_assignment: inline.endpoints(discovery['service_name']) } as unknown as Json;
}

function staticListener(listener: Json, inline: Inline): Json {
  const copy = structuredClone(listener);
  const chains: Json[] = [...(copy['filter_chains'] ?? [])];
  if (copy['default_filter_chain']) chains.push(copy['default_filter_chain']);
  for (const chain of chains) {
    for (const filter of (chain['filters'] ?? []) as Json[]) {
      inlineRoutes(filter['typed_config'] as Json, inline);
      inlineFilterConfigs(filter['typed_config'] as Json, inline);
    }
    if (chain['transport_socket']) inlineCertificates(chain['transport_socket']['typed_config'] as Json, inline);
  }
  return copy;
}

function inlineRoutes(filter: Json, inline: Inline): void {
  if (filter['rds'] === undefined) return;
  filter['route_config'] = inline.routes(filter['rds']['route_config_name']);
  delete filter['rds'];
}

function inlineFilterConfigs(manager: Json, inline: Inline): void {
  for (const filter of (manager['http_filters'] ?? []) as Json[]) {
    if (filter['config_discovery'] === undefined) continue;
    filter['typed_config'] = inline.filterConfig(filter['name']);
    delete filter['config_discovery'];
  }
}

function inlineCertificates(socket: Json, inline: Inline): void {
  // Over QUIC there is a message around it.
  const tls = socket['downstream_tls_context'] ?? socket;
  const context = tls['common_tls_context'] as Json;
  if (context['custom_tls_certificate_selector'] !== undefined) {
    // Nobody can be asked, so the certificate for clients without a server name stands for all.
    context['tls_certificates'] = [inline.certificate('default-certificate')] as unknown as Json;
    delete context['custom_tls_certificate_selector'];
  }
  inlineSecrets(tls, inline);
}

function inlineSecrets(tls: Json, inline: Inline): void {
  const context = tls['common_tls_context'] as Json;
  const combined = context['combined_validation_context'];
  if (combined !== undefined) {
    const { name } = combined['validation_context_sds_secret_config'] as Json;
    context['validation_context'] = { ...combined['default_validation_context'], ...inline.authorities(name) } as Json;
    delete context['combined_validation_context'];
  }
  const secrets = (context['tls_certificate_sds_secret_configs'] ?? []) as Json[];
  if (secrets.length === 0) return;
  context['tls_certificates'] = secrets.map(({ name }) => inline.certificate(name)) as unknown as Json;
  delete context['tls_certificate_sds_secret_configs'];
}
