import type {
  envoy_config_cluster_v3_Cluster as ClusterMessage,
  envoy_extensions_filters_network_http_connection_manager_v3_HttpFilter as HttpFilter,
} from '../gen/messages.ts';
import { canonicalIp } from '../ip-address.ts';
import { authorityHost, COPY_MARK, type MirrorTarget } from '../model/mirror.ts';
import type { Cluster } from '../model/proxy-model.ts';
import type { UpstreamSettings } from '../model/settings.ts';
import { type DnsOptions, resolvedName } from './resolved-name.ts';
import { httpProtocolOptions } from './upstream-protocol.ts';
import { tlsTo } from './upstream-tls.ts';

/**
 * Headers by which a route says what a copy is to be: no other way to change a path, or to leave a body out, is known to Envoy. Nobody sees
 * them: they are set on copies alone, and taken away before these are sent.
 */
export const COPY_HEADERS = {
  path: 'x-copy-path',
  host: 'x-copy-host',
  forwardedFor: 'x-copy-forwarded-for',
  body: 'x-copy-body',
  traceparent: 'x-copy-traceparent',
  tracestate: 'x-copy-tracestate',
} as const;

/** Bounds what a target that is slow can hold of memory; what is beyond is not copied. */
const MOST_COPIES = 128;

/**
 * A body is held until it is complete: a target that takes it slowly would otherwise slow down the client as well. One that is too
 * large for the buffer ends the copy.
 */
const script = (target: MirrorTarget, traces: boolean) => `
local function take(headers, name)
  local value = headers:get(name)
  headers:remove(name)
  return value
end

local function escaped(byte)
  return string.format("%%%02X", byte:byte())
end

function envoy_on_request(handle)
  local headers = handle:headers()
  if headers:get("${COPY_MARK}") ~= nil then
    handle:respond({ [":status"] = "204" })
    return
  end
  headers:add("${COPY_MARK}", "1")
  local path = take(headers, "${COPY_HEADERS.path}")
  local host = take(headers, "${COPY_HEADERS.host}")
  local client = take(headers, "${COPY_HEADERS.forwardedFor}")
  local body = take(headers, "${COPY_HEADERS.body}")
  local traceparent = take(headers, "${COPY_HEADERS.traceparent}")
  local tracestate = take(headers, "${COPY_HEADERS.tracestate}")
  headers:replace(":path", (path:gsub("[^\\33-\\126]", escaped)))
  headers:replace(":authority", host or "${authorityOf(target)}")
  headers:remove("x-forwarded-for")
  if client ~= nil then headers:add("x-forwarded-for", client) end
  local told = headers:get("traceparent")
  if ${traces} and told ~= nil and told:sub(-2) == "00" then
    headers:remove("traceparent")
    headers:remove("tracestate")
    if traceparent ~= nil then headers:add("traceparent", traceparent) end
    if tracestate ~= nil then headers:add("tracestate", tracestate) end
  end
  headers:remove("x-envoy-internal")
  headers:remove("x-envoy-expected-rq-timeout-ms")
  if body == "whole" then
    handle:body()
    return
  end
  if headers:get("content-length") ~= nil then headers:replace("content-length", "0") end
  for chunk in handle:bodyChunks() do chunk:setBytes("") end
end
`;

/** As nginx writes it where `mirror-host` comes to nothing. */
function authorityOf({ tls, hostname, port }: MirrorTarget): string {
  const host = authorityHost(hostname.replace(/\.$/, ''));
  return port === (tls ? 443 : 80) ? host : `${host}:${port}`;
}

const filters = (target: MirrorTarget, traces: boolean): readonly HttpFilter[] => [
  {
    name: 'copy',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua',
      default_source_code: { inline_string: script(target, traces) },
    },
  },
  {
    name: 'upstream-codec',
    typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec' },
  },
];

export interface ClusterOptions extends DnsOptions {
  /** Whether the tracer of Envoy tells backends, and so copies, of spans; of one that is not sampled a copy is not told. */
  readonly traces: boolean;
}

/** Where copies of requests go. */
export function mirrorClusterMessage(
  { name, target }: Extract<Cluster, { kind: 'mirror' }>,
  settings: UpstreamSettings,
  options: ClusterOptions,
): ClusterMessage {
  const { hostname, port, tls } = target;
  const most = { value: MOST_COPIES };
  return {
    name,
    ...resolvedName({ name, hostname, port }, settings, options),
    per_connection_buffer_limit_bytes: { value: 32 * 1024 },
    circuit_breakers: {
      thresholds: [
        { max_connections: most, max_pending_requests: most, max_requests: most, max_retries: { value: 0 } },
      ],
    },
    common_lb_config: { healthy_panic_threshold: { value: 0 } },
    ignore_health_on_host_removal: true,
    connect_timeout: { seconds: settings.connectTimeoutSeconds },
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
        ...httpProtocolOptions({}, settings),
        http_filters: filters(target, options.traces),
      },
    },
    ...(tls && {
      transport_socket: tlsTo(canonicalIp(hostname) === undefined ? hostname.replace(/\.$/, '') : undefined),
    }),
  };
}
