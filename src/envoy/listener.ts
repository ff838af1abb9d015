import {
  type envoy_config_listener_v3_FilterChain as FilterChain,
  type envoy_config_listener_v3_ListenerFilter as ListenerFilter,
  type envoy_config_listener_v3_Listener as ListenerMessage,
  type envoy_config_listener_v3_Filter as NetworkFilter,
  envoy_config_core_v3_TrafficDirection as TrafficDirection,
} from '../gen/messages.ts';
import {
  type CertificateName,
  DEFAULT_CERTIFICATE,
  type Listener,
  ON_DEMAND,
  type ServerName,
} from '../model/proxy-model.ts';
import type { ListenerSettings } from '../model/settings.ts';
import { type TlsPolicy, type TlsSettings, withTlsPolicy } from '../model/tls-settings.ts';
import { type CertificateTarget, chainName } from './chain-name.ts';
import { sessions, tlsParameters } from './client-tls.ts';
import { ADS, socketAddress } from './config-source.ts';
import { onDemandSelector } from './on-demand.ts';
import { serverNameMatcher } from './server-name-matcher.ts';

export interface ListenerOptions {
  /** Whether to bind `::` too; a machine without IPv6 could not. */
  readonly ipv6: boolean;
}

/** What is the same for every listener. */
export interface Binding extends Pick<ListenerSettings, 'proxyProtocol'> {
  /** At least one. */
  readonly addresses: readonly [string, ...string[]];
}

/** Where no address is left that the machine has, those that it has count. */
export function bindingOf({ addresses, ipv6, proxyProtocol }: ListenerSettings, machine: ListenerOptions): Binding {
  const usable = (address: string) => !address.includes(':') || (ipv6 && machine.ipv6);
  const [first = '0.0.0.0', ...more] = (addresses ?? ['0.0.0.0', '::']).filter(usable);
  return { addresses: [first, ...more], ...(proxyProtocol && { proxyProtocol }) };
}

/**
 * The plain listener. It depends on nothing but its port.
 * @param connectionManager the filter that serves the `http` route table
 */
export function httpListener(listener: Listener, connectionManager: NetworkFilter, binding: Binding): ListenerMessage {
  return { ...httpBinding(listener, binding), filter_chains: [{ name: 'http', filters: [connectionManager] }] };
}

/**
 * The TLS listener without the chains that its matcher leads to (see `certificateChain`): server names go to the chain of their
 * certificate, all others to the default certificate, or to the one that is found by their name.
 * @param serverNames those of the listener whose certificate exists
 */
export function httpsListener(
  listener: Listener,
  serverNames: readonly ServerName[],
  { connectionManager, tls }: ChainParts,
  binding: Binding,
): ListenerMessage {
  const { onDemand = false } = listener;
  const rejects = tls.rejectsUnknownNames && !onDemand;
  const matcher = serverNameMatcher(serverNames, { onDemand, rejects });
  return {
    ...httpBinding(listener, binding, [TLS_INSPECTOR]),
    ...(matcher === undefined ? {} : { filter_chain_matcher: matcher }),
    // The matcher cannot lead here by name: a server name that wants this certificate needs a chain of the other kind.
    ...(!rejects && {
      default_filter_chain: tlsChain('default', onDemand ? ON_DEMAND : DEFAULT_CERTIFICATE, { connectionManager, tls }),
    }),
  };
}

/**
 * The chain of one certificate. Chains differ in the name of their secret alone, and in what a policy wants, so that another
 * certificate or server name disturbs no connection on the others.
 */
export function certificateChain(target: CertificateTarget, { connectionManager, tls }: ChainParts): FilterChain {
  const { certificate, tls: policy } = target;
  const wanted = policy === undefined ? tls : withTlsPolicy(tls, policy);
  return tlsChain(chainName(target), certificate, { connectionManager, tls: wanted });
}

/** What all chains have in common that end TLS. */
export interface ChainParts {
  /** The filter that serves the `https` route table. */
  readonly connectionManager: NetworkFilter;
  readonly tls: TlsSettings & TlsPolicy;
}

/** A port on every address. */
export function everyAddress(port: number, { addresses }: Binding, protocol: 'tcp' | 'udp' = 'tcp') {
  const [first, ...more] = addresses;
  return {
    address: socketAddress(first, port, protocol),
    ...(more.length > 0 && {
      additional_addresses: more.map((address) => ({ address: socketAddress(address, port, protocol) })),
    }),
  } satisfies Partial<ListenerMessage>;
}

/** A listener for HTTP, which may want a header of the PROXY protocol before everything else. */
function httpBinding(listener: Listener, binding: Binding, filters: readonly ListenerFilter[] = []) {
  const { proxyProtocol } = binding;
  const all = [...(proxyProtocol === undefined ? [] : [PROXY_PROTOCOL]), ...filters];
  return {
    ...portBinding(listener, binding),
    ...(all.length > 0 && { listener_filters: all }),
    ...(proxyProtocol && { listener_filters_timeout: { seconds: proxyProtocol.timeoutSeconds } }),
  } satisfies Partial<ListenerMessage>;
}

/** Connections without the header are closed: otherwise anybody could claim any address. */
export const PROXY_PROTOCOL: ListenerFilter = {
  name: 'envoy.filters.listener.proxy_protocol',
  typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol' },
};

/** What every listener of connections has. */
export function portBinding({ name, port }: { readonly name: string; readonly port: number }, binding: Binding) {
  return {
    name,
    ...everyAddress(port, binding),
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

function tlsChain(name: string, certificate: CertificateName, { connectionManager, tls }: ChainParts): FilterChain {
  return {
    name,
    filters: [connectionManager],
    transport_socket: {
      name: 'envoy.transport_sockets.tls',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext',
        common_tls_context: {
          tls_params: tlsParameters(tls),
          alpn_protocols: tls.http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
          ...(certificate === ON_DEMAND
            ? { custom_tls_certificate_selector: onDemandSelector }
            : { tls_certificate_sds_secret_configs: [{ name: certificate, sds_config: ADS }] }),
        },
        ...sessions(tls, certificate),
        ...(tls.prefersClientCiphers && { prefer_client_ciphers: true }),
      },
    },
    // A client that does not finish its handshake; or a control plane that is away and does not say which certificate.
    transport_socket_connect_timeout: { seconds: certificate === ON_DEMAND ? 5 : 15 },
  };
}
