import type { envoy_extensions_upstreams_http_v3_HttpProtocolOptions as HttpProtocolOptions } from '../gen/messages.ts';
import type { BackendProtocol, ClusterPolicy } from '../model/proxy-model.ts';
import type { UpstreamSettings } from '../model/settings.ts';

/** As large as Envoy takes them without being asked; nginx takes less. */
const DEFAULT_HEADERS_KB = 60;
/** As large as Envoy takes them at all. */
const MAX_HEADERS_KB = 8192;

const TYPE = 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

/** The HTTP of connections to backends: its version, and how long they are kept. */
export function httpProtocolOptions(
  { backendProtocol: protocol, ...policy }: ClusterPolicy,
  settings: UpstreamSettings,
): HttpProtocolOptions & { readonly '@type': typeof TYPE } {
  const { kept, httpVersion, answerHeadersKb } = { ...settings, ...policy };
  const isKept = kept.idle > 0 && (httpVersion === '1.1' || isGrpc(protocol));
  return {
    '@type': TYPE,
    explicit_http_config: isGrpc(protocol) ? { http2_protocol_options: {} } : { http_protocol_options: {} },
    common_http_protocol_options: {
      idle_timeout: { seconds: kept.idleSeconds },
      max_connection_duration: { seconds: kept.ageSeconds },
      max_requests_per_connection: { value: isKept ? kept.requests : 1 },
      ...(answerHeadersKb > DEFAULT_HEADERS_KB && {
        max_response_headers_kb: { value: Math.min(answerHeadersKb, MAX_HEADERS_KB) },
      }),
    },
  };
}

export function isGrpc(protocol: BackendProtocol | undefined): boolean {
  return protocol === 'GRPC' || protocol === 'GRPCS';
}
