/** The bootstrap of Envoy: everything that it needs to find the control plane, and what cannot be changed while it runs. */

import { tlsSocket, type XdsTls } from './bootstrap-tls.ts';

/** Where the control plane listens: a Unix socket on this machine, or a host (name or address) and port. */
export type XdsAddress =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number };

export interface BootstrapOptions {
  /** How this proxy introduces itself to the control plane. */
  readonly node: { readonly id: string; readonly cluster: string };
  readonly xds: XdsAddress;
  /** Absent: what is said to the control plane is not encrypted. Only for TCP. */
  readonly xdsTls?: XdsTls;
  /** Path of the Unix socket of the admin interface (at most 107 bytes); Envoy makes it with mode 0600. */
  readonly adminSocket: string;
  /** More client connections than this are refused; absent: no limit, and Envoy says so at its start. */
  readonly maxDownstreamConnections?: number;
}

/** Name of the static cluster that leads to the control plane. */
export const XDS_CLUSTER = 'xds';

const SOCKET_MODE = 0o600;

/** A Bootstrap message in JSON form, for `envoy -c`. */
export function buildBootstrap(options: BootstrapOptions): object {
  return {
    node: { id: options.node.id, cluster: options.node.cluster },
    admin: {
      address: { pipe: { path: options.adminSocket, mode: SOCKET_MODE } },
      // The admin interface must answer when clients have used up the connections.
      ignore_global_conn_limit: true,
    },
    static_resources: { clusters: [xdsCluster(options.xds, options.xdsTls)] },
    dynamic_resources: dynamicResources(),
    deferred_stat_options: { enable_deferred_creation_stats: true },
    stats_config: { stats_matcher: { inclusion_list: { patterns: STATS } } },
    layered_runtime: { layers: [{ name: 'static', static_layer: RUNTIME }] },
    ...(options.maxDownstreamConnections === undefined
      ? {}
      : { overload_manager: connectionLimit(options.maxDownstreamConnections) }),
  };
}

/** `initial_fetch_timeout` stays at its default of 15 s: a first sync with many clusters takes seconds. */
function dynamicResources(): object {
  const ads = { ads: {}, resource_api_version: 'V3' };
  return {
    ads_config: {
      api_type: 'DELTA_GRPC',
      transport_api_version: 'V3',
      // Otherwise Envoy repeats its node, 60 KB of extension names, in every request and ACK.
      set_node_on_first_message_only: true,
      grpc_services: [
        {
          envoy_grpc: {
            cluster_name: XDS_CLUSTER,
            retry_policy: { retry_back_off: { base_interval: '0.2s', max_interval: '5s' } },
          },
        },
      ],
    },
    cds_config: ads,
    lds_config: ads,
  };
}

function xdsCluster(xds: XdsAddress, tls: XdsTls | undefined): object {
  const address =
    xds.kind === 'unix'
      ? { pipe: { path: xds.path } }
      : { socket_address: { address: xds.host, port_value: xds.port } };
  return {
    name: XDS_CLUSTER,
    ...(xds.kind === 'unix' ? { type: 'STATIC' } : { type: 'STRICT_DNS', dns_lookup_family: 'ALL' }),
    connect_timeout: '5s',
    load_assignment: { cluster_name: XDS_CLUSTER, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
    ...(tls && { transport_socket: tlsSocket(tls) }),
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
        '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
        explicit_http_config: { http2_protocol_options: xds.kind === 'tcp' ? { connection_keepalive: KEEPALIVE } : {} },
      },
    },
  };
}

/** Finds a control plane whose machine has gone without a word; on a Unix socket the kernel tells. */
const KEEPALIVE = { interval: '30s', timeout: '20s' };

/**
 * Sizes of compiled regular expressions are judged by the control plane, which can name the Ingress;
 * Envoy's own limit of 100 refuses patterns that users of ingress-nginx really write.
 */
export const RUNTIME = {
  're2.max_program_size.error_level': 4_294_967_295,
  're2.max_program_size.warn_level': 10_000,
  // As many as the module of ingress-nginx sends at once; what is less than that waits for up to 5 s.
  'tracing.opentelemetry.min_flush_spans': 512,
};

/** About ten values for each cluster instead of hundreds: with 10,000 clusters the rest costs 250 MB and seconds for each scrape. */
const STATS = [
  ...[
    'cluster_manager.',
    'control_plane.',
    'http.',
    'listener.',
    'listener_manager.',
    'overload.',
    'server.',
    'tracing.',
  ].map((prefix) => ({ prefix })),
  { prefix: `cluster.${XDS_CLUSTER}.` },
  {
    safe_regex: {
      regex:
        'cluster\\.[^.]+\\.(membership_(healthy|total)|upstream_cx_(active|connect_fail|connect_timeout|total)' +
        '|upstream_rq_(active|completed|retry|timeout|total|[1-5]xx))',
    },
  },
];

function connectionLimit(maxConnections: number): object {
  const name = 'envoy.resource_monitors.global_downstream_max_connections';
  return {
    resource_monitors: [
      {
        name,
        typed_config: {
          '@type':
            'type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig',
          max_active_downstream_connections: maxConnections,
        },
      },
    ],
  };
}
