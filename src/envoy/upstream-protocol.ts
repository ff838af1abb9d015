import type { envoy_extensions_upstreams_http_v3_HttpProtocolOptions as HttpProtocolOptions } from '../gen/messages.ts';
import type { BackendProtocol } from '../model/proxy-model.ts';

const TYPE = 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

/** The HTTP of connections to backends: its version, and how long they are kept. */
export function httpProtocolOptions(
  protocol: BackendProtocol | undefined,
): HttpProtocolOptions & { readonly '@type': typeof TYPE } {
  return {
    '@type': TYPE,
    explicit_http_config: isGrpc(protocol) ? { http2_protocol_options: {} } : { http_protocol_options: {} },
    common_http_protocol_options: {
      idle_timeout: { seconds: 60 },
      max_requests_per_connection: { value: 10_000 },
    },
  };
}

export function isGrpc(protocol: BackendProtocol | undefined): boolean {
  return protocol === 'GRPC' || protocol === 'GRPCS';
}
