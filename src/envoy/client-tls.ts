/** How clients speak TLS. What is at Envoy's default is left out. */
import {
  type envoy_extensions_transport_sockets_tls_v3_DownstreamTlsContext as DownstreamTlsContext,
  type envoy_extensions_transport_sockets_tls_v3_TlsParameters as TlsParameters,
  envoy_extensions_transport_sockets_tls_v3_TlsParameters_TlsProtocol as TlsProtocol,
} from '../gen/messages.ts';
import { type CertificateName, ON_DEMAND } from '../model/proxy-model.ts';
import { type ClientTlsVersion, DEFAULT_TLS, type TlsSettings } from '../model/tls-settings.ts';

const PROTOCOLS: Readonly<Record<ClientTlsVersion, TlsProtocol>> = {
  TLSv1: TlsProtocol.TLSv1_0,
  'TLSv1.1': TlsProtocol.TLSv1_1,
  'TLSv1.2': TlsProtocol.TLSv1_2,
  'TLSv1.3': TlsProtocol.TLSv1_3,
};

export function tlsParameters({ versions, ciphers, curves }: TlsSettings): TlsParameters {
  return {
    tls_minimum_protocol_version: PROTOCOLS[versions[0] ?? 'TLSv1.2'],
    tls_maximum_protocol_version: PROTOCOLS[versions.at(-1) ?? 'TLSv1.3'],
    ...(ciphers && { cipher_suites: ciphers }),
    ...(curves && { ecdh_curves: curves }),
  };
}

/** Envoy can resume no session whose certificate is looked up. */
export function sessions(
  { sessionCache, sessionTickets, sessionTimeoutSeconds }: TlsSettings,
  certificate: CertificateName,
) {
  const isOnDemand = certificate === ON_DEMAND;
  return {
    ...((!sessionTickets || isOnDemand) && { disable_stateless_session_resumption: true }),
    ...((!sessionCache || isOnDemand) && { disable_stateful_session_resumption: true }),
    ...(sessionTimeoutSeconds !== DEFAULT_TLS.sessionTimeoutSeconds && {
      session_timeout: { seconds: sessionTimeoutSeconds },
    }),
  } satisfies Partial<DownstreamTlsContext>;
}
