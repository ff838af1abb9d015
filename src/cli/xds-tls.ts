import type { Options } from 'yargs';

/** The name that `certs` gives to proxies, and that `serve` lets in unless told otherwise. */
export const DEFAULT_CLIENT = 'ingress-xds-proxy';

const fileFlag = (describe: string) => ({ type: 'string', requiresArg: true, describe }) as const;

/** Flags of `serve` for mutual TLS. */
export const xdsTlsFlags = {
  'xds-certificate': fileFlag(
    'PEM file with the certificate of this control plane, and its intermediates, for mutual TLS',
  ),
  'xds-key': fileFlag('PEM file with the private key for --xds-certificate'),
  'xds-ca': fileFlag('PEM file with the certificate authorities that sign the certificates of Envoys'),
  'xds-client': {
    type: 'string',
    array: true,
    requiresArg: true,
    default: [DEFAULT_CLIENT],
    describe:
      'Name in the certificate of an Envoy that may connect, and the namespaces whose keys it may have: NAME or NAME=NAMESPACE,…; * is any other name; may be repeated',
  },
} as const satisfies Record<string, Options>;

/** Flags of `bootstrap` for mutual TLS. */
export const xdsTlsClientFlags = {
  'xds-certificate': fileFlag(
    'PEM file with the certificate of this Envoy, and its intermediates; read by Envoy, again when it changes',
  ),
  'xds-key': fileFlag('PEM file with the private key for --xds-certificate'),
  'xds-ca': fileFlag('PEM file with the certificate authorities that sign the certificate of the control plane'),
  'xds-server-name': {
    type: 'string',
    requiresArg: true,
    describe: 'Name in the certificate of the control plane; without it the host of --xds-address',
  },
  'xds-secrets': {
    type: 'string',
    requiresArg: true,
    describe:
      'Folder for two small files that tell Envoy where its certificates are; without it the current one. A relative path begins where Envoy is started',
  },
} as const satisfies Record<string, Options>;

export interface XdsTlsArguments {
  readonly xdsCertificate?: string;
  readonly xdsKey?: string;
  readonly xdsCa?: string;
}

export interface XdsTlsClientArguments extends XdsTlsArguments {
  readonly xdsServerName?: string;
  readonly xdsSecrets?: string;
}

/** Flags of `certs`. */
export const certsFlags = {
  out: {
    type: 'string',
    requiresArg: true,
    describe: 'Folder for the certificates; a certificate authority that is there already is used again',
  },
  'dns-name': {
    type: 'string',
    array: true,
    requiresArg: true,
    default: [] as string[],
    describe:
      'Name or IP address of the control plane, beside those of its Service in the shipped manifests and of this machine; may be repeated',
  },
  client: {
    type: 'string',
    array: true,
    requiresArg: true,
    default: [DEFAULT_CLIENT],
    describe: 'Name of an Envoy or a group of Envoys that gets a certificate; may be repeated',
  },
  days: { type: 'number', requiresArg: true, default: 365, describe: 'How long the certificates are valid' },
  output: {
    choices: ['files', 'secret'] as const,
    default: 'files',
    requiresArg: true,
    describe: 'files: into the folder of --out; secret: Kubernetes Secrets as YAML on the standard output',
  },
  apply: {
    type: 'boolean',
    default: false,
    describe: 'Write the Secrets into the cluster; the certificate authority is kept in one of them',
  },
  namespace: {
    type: 'string',
    requiresArg: true,
    describe:
      'Namespace of the Secrets and of the Service of the control plane; without it $POD_NAMESPACE, or ingress-xds',
  },
  kubeconfig: {
    type: 'string',
    requiresArg: true,
    describe: 'kubeconfig file for --apply; without it the cluster that this pod runs in, or the usual file',
  },
} as const satisfies Record<string, Options>;

export interface CertsArguments {
  readonly out?: string;
  readonly dnsName: readonly string[];
  readonly client: readonly string[];
  readonly days: number;
  readonly output: 'files' | 'secret';
  readonly apply: boolean;
  readonly namespace?: string;
  readonly kubeconfig?: string;
}
