import type { ClientRule } from '../xds/clients.ts';
import type { CredentialPaths } from './credential-files.ts';
import { UsageError } from './flags.ts';
import type { XdsTlsArguments } from './xds-tls.ts';

const FILES = { xdsCertificate: '--xds-certificate', xdsKey: '--xds-key', xdsCa: '--xds-ca' } as const;

/**
 * The three files; `undefined` where none is given.
 * @throws UsageError for some of the flags without the others.
 */
export function credentialPaths(args: XdsTlsArguments): CredentialPaths | undefined {
  const { xdsCertificate: certificate, xdsKey: key, xdsCa: ca } = args;
  if (certificate === undefined && key === undefined && ca === undefined) return undefined;
  if (certificate && key && ca) return { certificate, key, ca };
  const missing = Object.entries(FILES).flatMap(([name, flag]) => (args[name as keyof typeof FILES] ? [] : [flag]));
  throw new UsageError(
    `mutual TLS needs ${Object.values(FILES).join(', ')} together: ${missing.join(' and ')} missing`,
  );
}

/**
 * Reads the values of `--xds-client`: `NAME`, or `NAME=NAMESPACE,NAMESPACE`.
 * @throws UsageError for a value that is neither.
 */
export function parseClients(values: readonly string[]): ClientRule[] {
  const rules = values.map((value) => {
    // A name may be a URI, which may hold an equals sign; namespaces hold none.
    const split = value.lastIndexOf('=');
    const name = split < 0 ? value : value.slice(0, split);
    if (name === '' || /\s/.test(name)) throw new UsageError(`--xds-client=${value}: must be NAME or NAME=NAMESPACE,…`);
    if (split < 0) return { name };
    const namespaces = value.slice(split + 1).split(',');
    const bad = namespaces.find((namespace) => !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace));
    if (bad !== undefined) throw new UsageError(`--xds-client=${value}: "${bad}" is no name of a namespace`);
    return { name, namespaces };
  });
  const names = rules.map(({ name }) => name);
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw new UsageError(`--xds-client=${repeated} is given twice`);
  return rules;
}
