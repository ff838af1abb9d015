import {
  envoy_extensions_transport_sockets_tls_v3_SubjectAltNameMatcher_SanType as SanType,
  type envoy_extensions_transport_sockets_tls_v3_SdsSecretConfig as SdsSecretConfig,
  type envoy_extensions_transport_sockets_tls_v3_TlsParameters as TlsParameters,
  type envoy_extensions_transport_sockets_tls_v3_TlsParameters_TlsProtocol as TlsProtocol,
  envoy_extensions_transport_sockets_tls_v3_TlsParameters_TlsProtocol as TlsProtocols,
  type envoy_config_core_v3_TransportSocket as TransportSocket,
} from '../gen/messages.ts';
import type { ObjectKey } from '../model/object-ref.ts';
import { type BackendTls, type ClusterPolicy, type TlsVersion, tlsVersions } from '../model/proxy-model.ts';
import { authoritiesName, clientCertificateName } from './backend-secret.ts';
import { ADS } from './config-source.ts';
import { isGrpc } from './upstream-protocol.ts';

const PROTOCOLS: Readonly<Record<TlsVersion, TlsProtocol>> = {
  'TLSv1.2': TlsProtocols.TLSv1_2,
  'TLSv1.3': TlsProtocols.TLSv1_3,
};

/**
 * TLS to backends, where they speak it. As with ingress-nginx they are believed whatever certificate they show, and are told no server
 * name, unless an annotation asks for more.
 */
export function tlsToBackend({ backendProtocol, backendTls }: ClusterPolicy): TransportSocket | undefined {
  if (backendProtocol !== 'HTTPS' && backendProtocol !== 'GRPCS') return undefined;
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      ...(backendTls?.serverName !== undefined && { sni: backendTls.serverName }),
      common_tls_context: {
        tls_params: parameters(backendTls),
        ...(isGrpc(backendProtocol) && { alpn_protocols: ['h2'] }),
        ...(backendTls?.showsCertificate && {
          tls_certificate_sds_secret_configs: [secretOf(clientCertificateName(backendTls.secret))],
        }),
        ...(backendTls?.verify && { combined_validation_context: validation(backendTls.secret, backendTls.verify) }),
      },
    },
  };
}

/** TLS to a server that is believed whatever certificate it shows. */
export function tlsTo(serverName: string | undefined): TransportSocket {
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      ...(serverName !== undefined && { sni: serverName }),
      common_tls_context: { tls_params: parameters() },
    },
  };
}

/** Envoy's own default for clients ends at 1.2. */
function parameters({ versions = tlsVersions, ciphers }: Partial<BackendTls> = {}): TlsParameters {
  return {
    tls_minimum_protocol_version: PROTOCOLS[versions[0] ?? 'TLSv1.2'],
    tls_maximum_protocol_version: PROTOCOLS[versions.at(-1) ?? 'TLSv1.3'],
    ...(ciphers && { cipher_suites: ciphers }),
  };
}

/** Without the depth: Envoy has a setting for it, but heeds it for clients only. */
function validation(secret: ObjectKey, { name }: NonNullable<BackendTls['verify']>) {
  return {
    default_validation_context: {
      match_typed_subject_alt_names: [{ san_type: SanType.DNS, matcher: { exact: name } }],
    },
    validation_context_sds_secret_config: secretOf(authoritiesName(secret)),
  };
}

function secretOf(name: string): SdsSecretConfig {
  return { name, sds_config: ADS };
}

/** The secrets that a cluster waits for. */
export function secretsOf({ backendProtocol, backendTls }: ClusterPolicy = {}): readonly string[] {
  if (backendTls === undefined || (backendProtocol !== 'HTTPS' && backendProtocol !== 'GRPCS')) return [];
  return [
    ...(backendTls.showsCertificate ? [clientCertificateName(backendTls.secret)] : []),
    ...(backendTls.verify === undefined ? [] : [authoritiesName(backendTls.secret)]),
  ];
}
