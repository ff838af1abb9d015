/**
 * Which certificate answers which server name. The names that certificates carry lead, not the hosts of Ingresses, so a new host
 * under a known certificate does not touch the listener; a host is named only where that would show another certificate than its
 * Ingress asks for, or one of a namespace that has nothing to do with the host: otherwise anybody with a certificate could decide
 * what somebody else's host shows.
 */
import { deepEqual, type Engine, type Key, type Reader, type Table } from '../derive.ts';
import { objectRef } from '../model/object-ref.ts';
import {
  type CertificateName,
  DEFAULT_CERTIFICATE,
  DEFAULT_HOST,
  type HostName,
  type ServerName,
  type ServerNameTarget,
} from '../model/proxy-model.ts';
import { wildcardOf } from './host.ts';
import { deriveOnDemandNames } from './on-demand-names.ts';
import type { CertificateNames } from './secret-certificate.ts';
import type { HostTls } from './tls.ts';

/** The one group that holds all server names. */
export const ALL_NAMES = 'https';

export interface ServerNames {
  /** The certificates that hosts use, and the default certificate. */
  readonly usedCertificates: Table<ReadonlyMap<HostName, true>>;
  /** Both under `ALL_NAMES`, sorted by name. No name stands in both: exceptions are hosts that no certificate names. */
  readonly certificateNames: Table<readonly ServerName[]>;
  readonly exceptions: Table<readonly ServerName[]>;
  /** Exact server names whose certificate is looked up on demand; always empty when nothing is. */
  readonly onDemand: Table<CertificateName>;
}

/** Who answers a name that no certificate and no host has. */
export const DEFAULT_TARGET: ServerNameTarget = { certificate: DEFAULT_CERTIFICATE };

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
  const named = engine.derive<ServerNameTarget>('server-name', owners, (name, read) => {
    const certificate = read(owners, name)!;
    // A name under a wildcard host is served by that host.
    const claimant = read(hostTls, name) ?? read(hostTls, wildcardOf(name) ?? name);
    return claimant === undefined ? { certificate } : targetFor(claimant, certificate);
  });
  /** Of a wildcard; absent where no certificate and no host is one. */
  const ofWildcard = (wildcard: HostName, read: Reader): ServerNameTarget | undefined => {
    const claimant = read(hostTls, wildcard);
    return read(named, wildcard) ?? (claimant && targetFor(claimant, DEFAULT_CERTIFICATE));
  };
  const exceptions = engine.derive<ServerNameTarget>('server-name-exception', hostTls, (host, read) => {
    if (host === DEFAULT_HOST || read(owners, host) !== undefined) return undefined;
    const wildcard = wildcardOf(host);
    const shown = (wildcard !== undefined && ofWildcard(wildcard, read)) || DEFAULT_TARGET;
    const wanted = targetFor(read(hostTls, host)!, 'certificate' in shown ? shown.certificate : DEFAULT_CERTIFICATE);
    return deepEqual(wanted, shown) ? undefined : wanted;
  });
  const known = onDemand
    ? deriveOnDemandNames(engine, { hostTls, named, exceptions, ofWildcard, certificateNames: names })
    : { named, exceptions, found: engine.derive<CertificateName>('on-demand-server-name', [], () => undefined) };
  return {
    usedCertificates,
    certificateNames: collect(engine, 'certificate-server-names', known.named),
    exceptions: collect(engine, 'exception-server-names', known.exceptions),
    onDemand: known.found,
  };
}

/** Who answers a host for which the certificate `shown` would answer by its names alone. */
function targetFor(host: HostTls, shown: CertificateName): ServerNameTarget {
  if (host.passthrough !== undefined) return { passthrough: host.passthrough };
  return { certificate: certificateFor(host, shown), ...(host.policy && { tls: host.policy }) };
}

function certificateFor(host: HostTls, shown: CertificateName): CertificateName {
  if (host.tls) return host.certificate ?? DEFAULT_CERTIFICATE;
  if (shown === DEFAULT_CERTIFICATE) return shown;
  return host.namespaces.includes(objectRef('Secret', shown).namespace) ? shown : DEFAULT_CERTIFICATE;
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
function collect(engine: Engine, name: string, table: Table<ServerNameTarget>): Table<readonly ServerName[]> {
  return engine.reduce<ServerNameTarget, ServerNameTarget, Map<Key, ServerNameTarget>, readonly ServerName[]>(
    name,
    table,
    {
      spread: (_, target) => [[ALL_NAMES, target]],
      init: () => new Map(),
      add: (entries, key, target) => void entries.set(key, target),
      remove: (entries, key) => void entries.delete(key),
      empty: (entries) => entries.size === 0,
      view: (entries) => sorted([...entries].map(([key, target]) => ({ name: key, ...target }))),
      always: [ALL_NAMES],
    },
  );
}

/** What a listener is to know. */
export function mergeServerNames(
  certificateNames: readonly ServerName[],
  exceptions: readonly ServerName[],
): ServerName[] {
  return sorted([...certificateNames, ...exceptions]);
}

function sorted(names: readonly ServerName[]): ServerName[] {
  return names.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
