import { resolve } from 'node:path';
import type { Options } from 'yargs';
import type { ClientRule } from '../xds/clients.ts';
import type { CredentialPaths } from './credential-files.ts';

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
} as const satisfies Record<string, Options>;

export interface XdsTlsArguments {
  readonly xdsCertificate?: string;
  readonly xdsKey?: string;
  readonly xdsCa?: string;
}

export interface XdsTlsServerArguments extends XdsTlsArguments {
  readonly xdsClient: readonly string[];
}

export interface XdsTlsClientArguments extends XdsTlsArguments {
  readonly xdsServerName?: string;
}

const FILES = { xdsCertificate: '--xds-certificate', xdsKey: '--xds-key', xdsCa: '--xds-ca' } as const;

/**
 * The three files as absolute paths; `undefined` where none is given.
 * @param fail makes the error for some of the flags without the others.
 */
export function credentialPaths(args: XdsTlsArguments, fail: (message: string) => Error): CredentialPaths | undefined {
  const { xdsCertificate: certificate, xdsKey: key, xdsCa: ca } = args;
  if (certificate === undefined && key === undefined && ca === undefined) return undefined;
  if (!certificate || !key || !ca) {
    const missing = Object.entries(FILES).flatMap(([name, flag]) => (args[name as keyof typeof FILES] ? [] : [flag]));
    throw fail(`mutual TLS needs ${Object.values(FILES).join(', ')} together: ${missing.join(' and ')} missing`);
  }
  return { certificate: resolve(certificate), key: resolve(key), ca: resolve(ca) };
}

/**
 * Reads the values of `--xds-client`: `NAME`, or `NAME=NAMESPACE,NAMESPACE`.
 * @param fail makes the error for a value that is neither.
 */
export function parseClients(values: readonly string[], fail: (message: string) => Error): ClientRule[] {
  const rules = values.map((value) => {
    // A name may be a URI, which may hold an equals sign; namespaces hold none.
    const split = value.lastIndexOf('=');
    const name = split < 0 ? value : value.slice(0, split);
    if (name === '' || /\s/.test(name)) throw fail(`--xds-client=${value}: must be NAME or NAME=NAMESPACE,…`);
    if (split < 0) return { name };
    const namespaces = value.slice(split + 1).split(',');
    const bad = namespaces.find((namespace) => !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace));
    if (bad !== undefined) throw fail(`--xds-client=${value}: "${bad}" is no name of a namespace`);
    return { name, namespaces };
  });
  const names = rules.map(({ name }) => name);
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw fail(`--xds-client=${repeated} is given twice`);
  return rules;
}
