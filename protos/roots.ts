/**
 * The messages that this product writes or reads. The schema in `src/gen` holds these and everything their fields reach.
 * A message that only ever travels inside an `Any` is reached by no field, so it must stand here.
 */

const inExtensions = (names: readonly string[]) => names.map((name) => `envoy.extensions.${name}`);
const inHttpFilters = (names: readonly string[]) => names.map((name) => `envoy.extensions.filters.http.${name}`);

const resources = [
  'envoy.config.cluster.v3.Cluster',
  'envoy.config.core.v3.TypedExtensionConfig',
  'envoy.config.endpoint.v3.ClusterLoadAssignment',
  'envoy.config.listener.v3.Listener',
  'envoy.config.route.v3.RouteConfiguration',
  'envoy.config.route.v3.ScopedRouteConfiguration',
  'envoy.config.route.v3.VirtualHost',
  'envoy.extensions.transport_sockets.tls.v3.Secret',
  'envoy.service.runtime.v3.Runtime',
];

const httpFilters = inHttpFilters([
  'basic_auth.v3.BasicAuth',
  'basic_auth.v3.BasicAuthPerRoute',
  'body_size_limit.v3.BodySizeLimit',
  'buffer.v3.Buffer',
  'buffer.v3.BufferPerRoute',
  'compressor.v3.Compressor',
  'compressor.v3.CompressorPerRoute',
  'cors.v3.Cors',
  'cors.v3.CorsPolicy',
  'custom_response.v3.CustomResponse',
  'ext_authz.v3.ExtAuthz',
  'ext_authz.v3.ExtAuthzPerRoute',
  'ext_proc.v3.ExtProcPerRoute',
  'ext_proc.v3.ExternalProcessor',
  'fault.v3.HTTPFault',
  'filter_chain.v3.FilterChainConfig',
  'filter_chain.v3.FilterChainConfigPerRoute',
  'grpc_web.v3.GrpcWeb',
  'header_mutation.v3.HeaderMutation',
  'header_mutation.v3.HeaderMutationPerRoute',
  'header_to_metadata.v3.Config',
  'health_check.v3.HealthCheck',
  'local_ratelimit.v3.LocalRateLimit',
  'lua.v3.Lua',
  'lua.v3.LuaPerRoute',
  'ratelimit.v3.RateLimit',
  'ratelimit.v3.RateLimitPerRoute',
  'rbac.v3.RBAC',
  'rbac.v3.RBACPerRoute',
  'router.v3.Router',
  'set_filter_state.v3.Config',
  'stateful_session.v3.StatefulSession',
  'stateful_session.v3.StatefulSessionPerRoute',
  'upstream_codec.v3.UpstreamCodec',
]);

const extensions = inExtensions([
  'access_loggers.file.v3.FileAccessLog',
  'access_loggers.filters.cel.v3.ExpressionFilter',
  'access_loggers.grpc.v3.HttpGrpcAccessLogConfig',
  'access_loggers.stream.v3.StdoutAccessLog',
  'clusters.dns.v3.DnsCluster',
  'common.matching.v3.ExtensionWithMatcher',
  'compression.brotli.compressor.v3.Brotli',
  'compression.gzip.compressor.v3.Gzip',
  'filters.common.matcher.action.v3.SkipFilter',
  'filters.listener.proxy_protocol.v3.ProxyProtocol',
  'filters.listener.tls_inspector.v3.TlsInspector',
  'filters.network.http_connection_manager.v3.HttpConnectionManager',
  'filters.network.tcp_proxy.v3.TcpProxy',
  'filters.udp.udp_proxy.v3.Route',
  'filters.udp.udp_proxy.v3.UdpProxyConfig',
  'formatter.cel.v3.Cel',
  'http.early_header_mutation.header_mutation.v3.HeaderMutation',
  'http.original_ip_detection.xff.v3.XffConfig',
  'http.stateful_session.cookie.v3.CookieBasedSessionState',
  'load_balancing_policies.least_request.v3.LeastRequest',
  'load_balancing_policies.maglev.v3.Maglev',
  'load_balancing_policies.ring_hash.v3.RingHash',
  'load_balancing_policies.round_robin.v3.RoundRobin',
  'matching.common_inputs.network.v3.ServerNameInput',
  'network.dns_resolver.cares.v3.CaresDnsResolverConfig',
  'request_id.uuid.v3.UuidRequestIdConfig',
  'retry.host.previous_hosts.v3.PreviousHostsPredicate',
  'tracers.opentelemetry.samplers.v3.AlwaysOnSamplerConfig',
  'tracers.opentelemetry.samplers.v3.ParentBasedSamplerConfig',
  'tracers.opentelemetry.samplers.v3.TraceIdRatioBasedSamplerConfig',
  'transport_sockets.proxy_protocol.v3.ProxyProtocolUpstreamTransport',
  'transport_sockets.quic.v3.QuicDownstreamTransport',
  'transport_sockets.raw_buffer.v3.RawBuffer',
  'transport_sockets.tls.cert_mappers.sni.v3.SNI',
  'transport_sockets.tls.cert_selectors.on_demand_secret.v3.Config',
  'transport_sockets.tls.v3.DownstreamTlsContext',
  'transport_sockets.tls.v3.UpstreamTlsContext',
  'upstreams.http.v3.HttpProtocolOptions',
]);

const others = [
  'envoy.config.route.v3.FilterConfig',
  'envoy.config.trace.v3.OpenTelemetryConfig',
  'envoy.type.matcher.v3.HttpRequestHeaderMatchInput',
  'google.protobuf.Empty',
  'google.protobuf.StringValue',
];

/** Full names of messages; these are also what an `Any` may hold. */
export const rootMessages: readonly string[] = [...resources, ...httpFilters, ...extensions, ...others].sort();

/** Full names of services, for the gRPC server and its reflection. */
export const rootServices: readonly string[] = [
  'envoy.service.accesslog.v3.AccessLogService',
  'envoy.service.auth.v3.Authorization',
  'envoy.service.cluster.v3.ClusterDiscoveryService',
  'envoy.service.discovery.v3.AggregatedDiscoveryService',
  'envoy.service.endpoint.v3.EndpointDiscoveryService',
  'envoy.service.ext_proc.v3.ExternalProcessor',
  'envoy.service.extension.v3.ExtensionConfigDiscoveryService',
  'envoy.service.listener.v3.ListenerDiscoveryService',
  'envoy.service.ratelimit.v3.RateLimitService',
  'envoy.service.route.v3.RouteDiscoveryService',
  'envoy.service.route.v3.ScopedRoutesDiscoveryService',
  'envoy.service.runtime.v3.RuntimeDiscoveryService',
  'envoy.service.secret.v3.SecretDiscoveryService',
];
