/**
 * HTTP/3: the HTTPS port over UDP. It has the certificates, server names and routes of the `https` listener.
 *
 * Chains and their matcher change in place, as there. Whatever else stands in the listener must stay as it is while Envoy runs: a
 * listener over UDP that is replaced at its address cuts its connections at once, without a drain.
 */
import {
  type envoy_config_listener_v3_FilterChain as FilterChain,
  type envoy_config_listener_v3_Listener as ListenerMessage,
  type envoy_config_core_v3_QuicProtocolOptions as QuicProtocolOptions,
  envoy_config_core_v3_TrafficDirection as TrafficDirection,
} from '../gen/messages.ts';
import { type CertificateName, DEFAULT_CERTIFICATE, type ServerName } from '../model/proxy-model.ts';
import { ADS } from './config-source.ts';
import { type Binding, type ChainParts, everyAddress } from './listener.ts';
import { serverNameMatcher } from './server-name-matcher.ts';

export const QUIC_LISTENER = 'https-udp';

/**
 * A secret of its own for each certificate: QUIC takes fewer kinds of keys, and when it refuses a renewed one that must not keep it
 * from TLS over TCP.
 */
export function quicSecretName(certificate: CertificateName): string {
  return `${certificate}/quic`;
}

export interface QuicListener {
  readonly port: number;
  /** Those of the `https` listener whose certificate exists and is one for QUIC. */
  readonly serverNames: readonly ServerName[];
  /** Whether the default certificate is one; else nobody answers other names. */
  readonly hasDefault: boolean;
}

/** The listener without the chains that its matcher leads to (see `quicChain`). */
export function quicListener(
  { port, serverNames, hasDefault }: QuicListener,
  parts: ChainParts,
  binding: Binding,
): ListenerMessage {
  const rejects = parts.tls.rejectsUnknownNames || !hasDefault;
  const matcher = serverNameMatcher(serverNames, { rejects });
  return {
    name: QUIC_LISTENER,
    ...everyAddress(port, binding, 'udp'),
    traffic_direction: TrafficDirection.INBOUND,
    udp_listener_config: { quic_options: { quic_protocol_options: LIMITS } },
    ...(matcher === undefined ? {} : { filter_chain_matcher: matcher }),
    ...(!rejects && { default_filter_chain: chain('default', DEFAULT_CERTIFICATE, parts) }),
  };
}

/** As for HTTP/2. Not what the ConfigMap says of HTTP/2, since a change would cut connections. */
const LIMITS: QuicProtocolOptions = {
  max_concurrent_streams: { value: 128 },
  initial_stream_window_size: { value: 256 * 1024 },
  initial_connection_window_size: { value: 1024 * 1024 },
};

/** The chain of one certificate, named like it. */
export function quicChain(certificate: CertificateName, parts: ChainParts): FilterChain {
  return chain(certificate, certificate, parts);
}

/** QUIC has its own versions, ciphers and groups of TLS: whatever else the settings say of TLS has no effect. */
function chain(name: string, certificate: CertificateName, { connectionManager, tls }: ChainParts): FilterChain {
  return {
    name,
    filters: [connectionManager],
    transport_socket: {
      name: 'envoy.transport_sockets.quic',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport',
        downstream_tls_context: {
          common_tls_context: {
            tls_certificate_sds_secret_configs: [{ name: quicSecretName(certificate), sds_config: ADS }],
          },
        },
        // A request in the first flight can be sent again by whoever saw it.
        enable_early_data: { value: false },
        // QUIC remembers sessions by tickets alone.
        enable_resumption: { value: tls.sessionTickets },
      },
    },
  };
}
