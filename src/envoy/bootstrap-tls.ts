/** The part of the bootstrap with which Envoy and the control plane prove to each other who they are. */
import { canonicalIp } from '../ip-address.ts';

/**
 * Mutual TLS with the control plane. Certificates are read by Envoy from files that `xdsSecrets` describes, since only what comes
 * by SDS is read again when it changes.
 */
export interface XdsTls {
  /** DNS name or IP address that the certificate of the control plane must have. */
  readonly serverName: string;
  /** Paths of the files with the two secrets of `xdsSecrets`, each with a folder: Envoy takes no others. */
  readonly secretFiles: Readonly<Record<keyof XdsSecrets, string>>;
}

/** Files that Envoy watches, each a DiscoveryResponse with one secret in JSON form. */
export interface XdsSecrets {
  readonly certificate: object;
  readonly authorities: object;
}

/** A transport socket for the cluster that leads to the control plane. */
export function tlsSocket({ serverName, secretFiles }: XdsTls): object {
  const address = canonicalIp(serverName)?.ip;
  const nameMatch = { san_type: address ? 'IP_ADDRESS' : 'DNS', matcher: { exact: address ?? serverName } };
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      ...(address === undefined && { sni: serverName }),
      // A resumed session would not be checked again.
      max_session_keys: 0,
      common_tls_context: {
        tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
        alpn_protocols: ['h2'],
        tls_certificate_sds_secret_configs: [secretFile(CERTIFICATE_SECRET, secretFiles.certificate)],
        combined_validation_context: {
          default_validation_context: { match_typed_subject_alt_names: [nameMatch] },
          validation_context_sds_secret_config: secretFile(AUTHORITIES_SECRET, secretFiles.authorities),
        },
      },
    },
  };
}

const CERTIFICATE_SECRET = 'xds-certificate';
const AUTHORITIES_SECRET = 'xds-ca';

function secretFile(name: string, path: string): object {
  return { name, sds_config: { path_config_source: { path }, resource_api_version: 'V3' } };
}

/**
 * The content of the files that `XdsTls` names.
 * @param paths of PEM files, each with a folder. Certificate and key are in one folder, which is watched for files that are moved into it.
 */
export function xdsSecrets(paths: {
  readonly certificate: string;
  readonly key: string;
  readonly ca: string;
}): XdsSecrets {
  return {
    certificate: secretResponse(CERTIFICATE_SECRET, {
      tls_certificate: {
        certificate_chain: { filename: paths.certificate },
        private_key: { filename: paths.key },
        watched_directory: { path: folderOf(paths.certificate) },
      },
    }),
    authorities: secretResponse(AUTHORITIES_SECRET, {
      validation_context: {
        trusted_ca: { filename: paths.ca },
        watched_directory: { path: folderOf(paths.ca) },
      },
    }),
  };
}

function secretResponse(name: string, secret: object): object {
  const type = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret';
  return { resources: [{ '@type': type, name, ...secret }] };
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}
