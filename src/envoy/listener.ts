import {
  type envoy_config_listener_v3_FilterChain as FilterChain,
  type envoy_config_listener_v3_Listener as ListenerMessage,
  type envoy_config_listener_v3_Filter as NetworkFilter,
  envoy_extensions_transport_sockets_tls_v3_TlsParameters_TlsProtocol as TlsProtocol,
  envoy_config_core_v3_TrafficDirection as TrafficDirection,
} from '../gen/messages.ts';
import {
  type CertificateName,
  DEFAULT_CERTIFICATE,
  type Listener,
  ON_DEMAND,
  type ServerName,
} from '../model/proxy-model.ts';
import { ADS, socketAddress } from './config-source.ts';
import { onDemandSelector } from './on-demand.ts';
import { serverNameMatcher } from './server-name-matcher.ts';

export interface ListenerOptions {
  /** Whether to bind `::` too; a machine without IPv6 could not. */
  readonly ipv6: boolean;
}

/**
 * The plain listener. It depends on nothing but its port.
 * @param connectionManager the filter that serves the `http` route table
 */
export function httpListener(
  listener: Listener,
  connectionManager: NetworkFilter,
  options: ListenerOptions,
): ListenerMessage {
  return { ...binding(listener, options), filter_chains: [{ name: 'http', filters: [connectionManager] }] };
}

/**
 * The TLS listener without the chains that its matcher leads to (see `certificateChain`): server names go to the chain of their
 * certificate, all others to the default certificate, or to the one that is found by their name.
 * @param serverNames those of the listener whose certificate exists
 * @param connectionManager the filter that serves the `https` route table
 */
export function httpsListener(
  listener: Listener,
  serverNames: readonly ServerName[],
  connectionManager: NetworkFilter,
  options: ListenerOptions,
): ListenerMessage {
  const { onDemand = false } = listener;
  const matcher = serverNameMatcher(serverNames, { onDemand });
  return {
    ...binding(listener, options),
    listener_filters: [TLS_INSPECTOR],
    ...(matcher === undefined ? {} : { filter_chain_matcher: matcher }),
    // The matcher cannot lead here by name: a server name that wants this certificate needs a chain of the other kind.
    default_filter_chain: tlsChain('default', onDemand ? ON_DEMAND : DEFAULT_CERTIFICATE, connectionManager),
  };
}

/**
 * The chain of one certificate, named like it. Chains differ in the name of their secret alone, so that another certificate or
 * server name disturbs no connection on the others.
 */
export function certificateChain(certificate: CertificateName, connectionManager: NetworkFilter): FilterChain {
  return tlsChain(certificate, certificate, connectionManager);
}

/** A port on every address. */
export function everyAddress(port: number, { ipv6 }: ListenerOptions, protocol: 'tcp' | 'udp' = 'tcp') {
  return {
    address: socketAddress('0.0.0.0', port, protocol),
    ...(ipv6 ? { additional_addresses: [{ address: socketAddress('::', port, protocol) }] } : {}),
  } satisfies Partial<ListenerMessage>;
}

/** What every listener of connections has. */
export function binding({ name, port }: { readonly name: string; readonly port: number }, options: ListenerOptions) {
  return {
    name,
    ...everyAddress(port, options),
    traffic_direction: TrafficDirection.INBOUND,
    per_connection_buffer_limit_bytes: { value: 32 * 1024 },
    // As much as the system allows, as ingress-nginx does.
    tcp_backlog_size: { value: 65_535 },
  } satisfies Partial<ListenerMessage>;
}

const TLS_INSPECTOR = {
  name: 'envoy.filters.listener.tls_inspector',
  typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector' },
} as const;

function tlsChain(name: string, certificate: CertificateName, connectionManager: NetworkFilter): FilterChain {
  return {
    name,
    filters: [connectionManager],
    transport_socket: {
      name: 'envoy.transport_sockets.tls',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext',
        common_tls_context: {
          tls_params: {
            tls_minimum_protocol_version: TlsProtocol.TLSv1_2,
            tls_maximum_protocol_version: TlsProtocol.TLSv1_3,
          },
          alpn_protocols: ['h2', 'http/1.1'],
          ...(certificate === ON_DEMAND
            ? { custom_tls_certificate_selector: onDemandSelector }
            : { tls_certificate_sds_secret_configs: [{ name: certificate, sds_config: ADS }] }),
        },
        // ingress-nginx: `ssl-session-tickets: false`.
        disable_stateless_session_resumption: true,
        // Envoy can resume no session whose certificate is looked up.
        ...(certificate === ON_DEMAND && { disable_stateful_session_resumption: true }),
      },
    },
    // A client that does not finish its handshake; or a control plane that is away and does not say which certificate.
    transport_socket_connect_timeout: { seconds: certificate === ON_DEMAND ? 5 : 15 },
  };
}
