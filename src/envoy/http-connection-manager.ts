import {
  envoy_extensions_filters_network_http_connection_manager_v3_HttpConnectionManager_CodecType as CodecType,
  envoy_extensions_filters_network_http_connection_manager_v3_HttpConnectionManager_PathWithEscapedSlashesAction as EscapedSlashesAction,
  type envoy_config_common_mutation_rules_v3_HeaderMutation as HeaderMutation,
  type envoy_config_core_v3_Http3ProtocolOptions as Http3ProtocolOptions,
  type envoy_extensions_filters_network_http_connection_manager_v3_HttpConnectionManager as HttpConnectionManager,
  type envoy_config_listener_v3_Filter as NetworkFilter,
  envoy_extensions_filters_network_http_connection_manager_v3_HttpConnectionManager_ServerHeaderTransformation as ServerHeader,
  envoy_config_core_v3_HttpProtocolOptions_HeadersWithUnderscoresAction as UnderscoresAction,
} from '../gen/messages.ts';
import type { ClientSettings } from '../model/connection-settings.ts';
import { claimsScheme, type ProxySettings } from '../model/settings.ts';
import { type AccessLogOptions, accessLog } from './access-log.ts';
import { clientIdentity, earlyMutations } from './client-identity.ts';
import { ADS } from './config-source.ts';
import type { Encoder } from './encoder.ts';
import { holdTrace } from './filters/trace-context.ts';
import { httpFilters, upgradeFilters } from './http-filters.ts';
import { localReplies } from './local-replies.ts';
import { QUIC_LISTENER } from './quic-listener.ts';
import type { RouteTableName } from './route-table.ts';
import { scopedRoutes, shardMutations } from './scoped-routes.ts';
import { tracing } from './tracing.ts';

const NAME = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

export interface RoutingOptions {
  /** Many small route tables, each for a part of the hosts, instead of one: a changed host costs less, each request a little more. */
  readonly routeSharding?: boolean;
}

export type ConnectionManagerOptions = RoutingOptions & AccessLogOptions;

/** The listeners that speak HTTP, each with a connection manager of its own; that over QUIC has the routes of `https`. */
export type HttpListenerName = RouteTableName | typeof QUIC_LISTENER;

/** The network filter that serves HTTP from a route table. Encoded once, since many filter chains carry the same. */
export function httpConnectionManager(
  encoder: Encoder,
  listener: HttpListenerName,
  settings: ProxySettings,
  options: ConnectionManagerOptions = {},
): NetworkFilter {
  const value = encoder.encode(NAME, message(listener, settings, options), listener);
  return {
    name: 'envoy.filters.network.http_connection_manager',
    typed_config: { type_url: `type.googleapis.com/${NAME}`, value },
  };
}

/** The same for every host and certificate: a change here drains every connection. */
function message(
  listener: HttpListenerName,
  settings: ProxySettings,
  { routeSharding = false, accessLog: isWritten = false }: ConnectionManagerOptions,
): HttpConnectionManager {
  const routeTable = listener === 'http' ? 'http' : 'https';
  const sharding = routeSharding ? shardMutations(routeTable) : [];
  const log = isWritten ? settings.logs.requests : undefined;
  const traces = settings.tracing === undefined ? [] : holdTrace(settings.tracing);
  return {
    stat_prefix: listener,
    ...codec(listener, settings),
    ...(routeSharding
      ? { scoped_routes: scopedRoutes(routeTable) }
      : { rds: { route_config_name: routeTable, config_source: ADS } }),
    early_header_mutation_extensions: [earlyMutation([...earlyMutations(settings), ...traces, ...sharding])],
    http_filters: httpFilters(settings, log),
    upgrade_configs: [
      { upgrade_type: 'websocket', filters: upgradeFilters(settings, log) },
      { upgrade_type: 'spdy/3.1', filters: upgradeFilters(settings, log) },
    ],
    local_reply_config: localReplies(settings, {
      secure: routeTable === 'https',
      redirects: routeTable === 'http' || claimsScheme(settings),
    }),
    ...(log ? { access_log: [accessLog(log)] } : {}),
    // Only what has an id can be traced; a filter takes it away again.
    ...(settings.http.generateRequestId || settings.tracing ? {} : { generate_request_id: { value: false } }),
    ...tracing(settings),
    ...clientIdentity(settings),
    ...requestShape(settings),
    ...timeouts(settings.clients),
  };
}

function earlyMutation(mutations: readonly HeaderMutation[]) {
  return {
    name: 'envoy.http.early_header_mutation.header_mutation',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation',
      mutations,
    },
  } as const;
}

function requestShape({ http: { underscoresInHeaders }, clients }: ProxySettings) {
  const { largeHeaderBuffers, keepAliveSeconds, keepAliveRequests } = clients;
  return {
    normalize_path: { value: true },
    merge_slashes: true,
    path_with_escaped_slashes_action: EscapedSlashesAction.KEEP_UNCHANGED,
    strip_trailing_host_dot: true,
    server_header_transformation: ServerHeader.PASS_THROUGH,
    max_request_headers_kb: { value: Math.ceil((largeHeaderBuffers.number * largeHeaderBuffers.bytes) / 1024) },
    common_http_protocol_options: {
      // Without a time to rest a connection takes one request. For Envoy no time would be no limit.
      ...(keepAliveSeconds > 0 && { idle_timeout: { seconds: keepAliveSeconds } }),
      max_requests_per_connection: { value: keepAliveSeconds > 0 ? keepAliveRequests : 1 },
      max_headers_count: { value: 200 },
      headers_with_underscores_action: underscoresInHeaders ? UnderscoresAction.ALLOW : UnderscoresAction.DROP_HEADER,
    },
  } satisfies Partial<HttpConnectionManager>;
}

function codec(listener: HttpListenerName, { tls, clients }: ProxySettings) {
  if (listener === QUIC_LISTENER) return { codec_type: CodecType.HTTP3, http3_protocol_options: HTTP3 };
  return { ...(tls.http2 ? {} : { codec_type: CodecType.HTTP1 }), ...overTcp(clients) };
}

/** A bad request ends its stream, not the connection with everything else on it. */
const HTTP3: Http3ProtocolOptions = { override_stream_error_on_invalid_http_message: { value: true } };

function overTcp({ http2Streams }: ClientSettings) {
  return {
    http_protocol_options: {
      accept_http_10: true,
      // What nginx passes on for a request without a Host: the name of its default server.
      default_host_for_http_10: '_',
      allow_custom_methods: true,
      // Clients that offer TLS or HTTP/2 by an Upgrade header are served in the protocol they speak, not refused.
      ignore_http_11_upgrade: [
        { prefix: 'TLS/', ignore_case: true },
        { prefix: 'HTTP/', ignore_case: true },
      ],
    },
    http2_protocol_options: {
      max_concurrent_streams: { value: http2Streams },
      initial_stream_window_size: { value: 256 * 1024 },
      initial_connection_window_size: { value: 1024 * 1024 },
      // As for HTTP/3.
      override_stream_error_on_invalid_http_message: { value: true },
    },
  } satisfies Partial<HttpConnectionManager>;
}

function timeouts({ headerSeconds, bodySeconds }: ClientSettings) {
  return {
    request_headers_timeout: { seconds: headerSeconds },
    // A second more than a backend may be silent (see the retry policy), so that a silent backend gives 504.
    stream_idle_timeout: { seconds: Math.max(READ_SECONDS, bodySeconds) + 1 },
  } satisfies Partial<HttpConnectionManager>;
}

/** ingress-nginx: `proxy-read-timeout: 60`. Routes with another time have an idle time-out of their own. */
const READ_SECONDS = 60;
