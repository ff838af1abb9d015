import {
  type envoy_extensions_transport_sockets_tls_v3_TlsParameters_TlsProtocol as TlsProtocol,
  envoy_extensions_transport_sockets_tls_v3_TlsParameters_TlsProtocol as TlsProtocols,
  type envoy_config_core_v3_TransportSocket as TransportSocket,
} from '../gen/messages.ts';
import type { ClusterPolicy } from '../model/proxy-model.ts';
import { isGrpc } from './upstream-protocol.ts';

/** Without a setting for it; Envoy's own default for clients ends at 1.2. */
const VERSIONS = {
  tls_minimum_protocol_version: TlsProtocols.TLSv1_2,
  tls_maximum_protocol_version: TlsProtocols.TLSv1_3,
} satisfies Readonly<Record<string, TlsProtocol>>;

/**
 * TLS to backends, where they speak it. As with ingress-nginx they are believed whatever certificate they show, and are told no server
 * name, unless an annotation asks for more.
 */
export function tlsToBackend({ backendProtocol }: ClusterPolicy): TransportSocket | undefined {
  if (backendProtocol !== 'HTTPS' && backendProtocol !== 'GRPCS') return undefined;
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      common_tls_context: { tls_params: VERSIONS, ...(isGrpc(backendProtocol) && { alpn_protocols: ['h2'] }) },
    },
  };
}
