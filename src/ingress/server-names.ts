/**
 * Which certificate answers which server name. The names that certificates carry lead, not the hosts of Ingresses, so a new host
 * under a known certificate does not touch the listener; a host is named only where that would show another certificate than its
 * Ingress asks for.
 */
import type { Engine, Key, Table } from '../derive.ts';
import { type CertificateName, DEFAULT_CERTIFICATE, type HostName, type ServerName } from '../model/proxy-model.ts';
import { wildcardOf } from './host.ts';
import { deriveOnDemandNames } from './on-demand-names.ts';
import type { CertificateNames } from './secret-certificate.ts';
import type { HostTls } from './tls.ts';

/** The one group that holds all server names. */
export const ALL_NAMES = 'https';

export interface ServerNames {
  /** The certificates that hosts use, and the default certificate. */
  readonly usedCertificates: Table<ReadonlyMap<HostName, true>>;
  /** Both under `ALL_NAMES`, sorted by name. An exception overrules a certificate's own name. */
  readonly certificateNames: Table<readonly ServerName[]>;
  readonly exceptions: Table<readonly ServerName[]>;
  /** Exact server names whose certificate is looked up on demand; always empty when nothing is. */
  readonly onDemand: Table<CertificateName>;
}

export function deriveServerNames(
  engine: Engine,
  hostTls: Table<HostTls>,
  names: Table<CertificateNames>,
  onDemand: boolean,
): ServerNames {
  const usedCertificates = engine.group<HostTls>(
    'used-certificates',
    hostTls,
    (_, { certificate }) => (certificate === undefined ? [] : [[certificate, true]]),
    [DEFAULT_CERTIFICATE],
  );
  const usedNames = engine.derive<readonly string[]>(
    'used-certificate-names',
    usedCertificates,
    (certificate, read) => read(names, certificate)?.dnsNames ?? [],
  );
  const owners = deriveNameOwners(engine, usedNames);
  const exceptions = engine.derive<CertificateName>('server-name-exception', hostTls, (host, read) => {
    const { tls, certificate = DEFAULT_CERTIFICATE } = read(hostTls, host) ?? { tls: false };
    if (!tls) return undefined;
    const wildcard = wildcardOf(host);
    const shown = read(owners, host) ?? (wildcard && read(owners, wildcard)) ?? DEFAULT_CERTIFICATE;
    return shown === certificate ? undefined : certificate;
  });
  const known = onDemand
    ? deriveOnDemandNames(engine, { hostTls, named: owners, exceptions, certificateNames: names })
    : {
        named: owners,
        exceptions,
        found: engine.derive<CertificateName>('on-demand-server-name', [], () => undefined),
      };
  return {
    usedCertificates,
    certificateNames: collect(engine, 'certificate-server-names', known.named),
    exceptions: collect(engine, 'exception-server-names', known.exceptions),
    onDemand: known.found,
  };
}

/** Per DNS name the certificate that answers it; among several that carry it, the one whose name comes first. */
function deriveNameOwners(engine: Engine, usedNames: Table<readonly string[]>): Table<CertificateName> {
  return engine.reduce<readonly string[], true, Set<CertificateName>, CertificateName>(
    'server-name-owners',
    usedNames,
    {
      spread: (_, dnsNames) => dnsNames.map((name) => [name, true]),
      init: () => new Set(),
      add: (owners, certificate) => void owners.add(certificate),
      remove: (owners, certificate) => void owners.delete(certificate),
      empty: (owners) => owners.size === 0,
      view: (owners) => [...owners].toSorted()[0]!,
      equal: Object.is,
    },
  );
}

/** All entries of a table as one sorted list, which a single unit can read. */
function collect(engine: Engine, name: string, table: Table<CertificateName>): Table<readonly ServerName[]> {
  return engine.reduce<CertificateName, CertificateName, Map<Key, CertificateName>, readonly ServerName[]>(
    name,
    table,
    {
      spread: (_, certificate) => [[ALL_NAMES, certificate]],
      init: () => new Map(),
      add: (entries, key, certificate) => void entries.set(key, certificate),
      remove: (entries, key) => void entries.delete(key),
      empty: (entries) => entries.size === 0,
      view: (entries) => sorted([...entries].map(([key, certificate]) => ({ name: key, certificate }))),
      always: [ALL_NAMES],
    },
  );
}

/** What a listener is to know: names of certificates, overruled by exceptions. */
export function mergeServerNames(
  certificateNames: readonly ServerName[],
  exceptions: readonly ServerName[],
): ServerName[] {
  const overruled = new Set(exceptions.map(({ name }) => name));
  return sorted([...certificateNames.filter(({ name }) => !overruled.has(name)), ...exceptions]);
}

function sorted(names: readonly ServerName[]): ServerName[] {
  return names.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
