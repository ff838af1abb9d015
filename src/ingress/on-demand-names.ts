/**
 * Which server names the TLS listener has to know when certificates are looked up on demand. A certificate for one exact host is
 * found by that host's name, so it stands in no listener and costs the proxy nothing before somebody asks for it; certificates
 * with a wildcard or with several names keep their chains.
 */
import type { Engine, Reader, Table } from '../derive.ts';
import {
  type CertificateName,
  DEFAULT_CERTIFICATE,
  DEFAULT_HOST,
  type HostName,
  ON_DEMAND,
} from '../model/proxy-model.ts';
import { isWildcard, wildcardOf } from './host.ts';
import type { CertificateNames } from './secret-certificate.ts';
import type { HostTls } from './tls.ts';

export interface OnDemandSources {
  readonly hostTls: Table<HostTls>;
  /** Of each name that a certificate carries, the certificate that is to answer it. */
  readonly named: Table<CertificateName>;
  /** Of hosts that no certificate names, the certificate that is to answer them, where it is not the wildcard's or the default. */
  readonly exceptions: Table<CertificateName>;
  readonly certificateNames: Table<CertificateNames>;
}

export interface OnDemandNames {
  /** What the listener has to know instead of `named` and `exceptions`; some lead to `ON_DEMAND`. */
  readonly named: Table<CertificateName>;
  readonly exceptions: Table<CertificateName>;
  /** Exact hosts, each with the certificate that is found by its name. Every exact host is here or has a chain. */
  readonly found: Table<CertificateName>;
}

export function deriveOnDemandNames(engine: Engine, sources: OnDemandSources): OnDemandNames {
  const { hostTls, named, exceptions } = sources;
  const shown = (host: HostName, read: Reader): CertificateName => {
    const wildcard = wildcardOf(host);
    const byWildcard = wildcard === undefined ? undefined : read(named, wildcard);
    return read(exceptions, host) ?? read(named, host) ?? byWildcard ?? DEFAULT_CERTIFICATE;
  };
  // A secret that is found is called like its host, so that one may not be called like the default certificate's.
  const hasChain = (host: HostName, certificate: CertificateName, read: Reader) =>
    host === DEFAULT_CERTIFICATE || isForSeveralHosts(read(sources.certificateNames, certificate));
  // A wildcard cannot be looked up: no client asks for it by this name.
  const wildcardLead = (wildcard: HostName, read: Reader): CertificateName | undefined =>
    read(named, wildcard) ?? (read(hostTls, wildcard) === undefined ? undefined : DEFAULT_CERTIFICATE);
  const lead = (host: HostName, read: Reader): CertificateName | undefined => {
    const certificate = shown(host, read);
    const isFound = read(hostTls, host) !== undefined && !hasChain(host, certificate, read);
    const wanted = isFound ? ON_DEMAND : certificate;
    const wildcard = wildcardOf(host);
    const unnamed = (wildcard !== undefined && wildcardLead(wildcard, read)) || ON_DEMAND;
    return wanted === unnamed ? undefined : wanted;
  };
  return {
    named: engine.derive<CertificateName>('chain-server-name', named, (name, read) =>
      isWildcard(name) ? wildcardLead(name, read) : lead(name, read),
    ),
    exceptions: engine.derive<CertificateName>('chain-server-name-exception', hostTls, (host, read) => {
      if (host === DEFAULT_HOST || read(named, host) !== undefined) return undefined;
      return isWildcard(host) ? wildcardLead(host, read) : lead(host, read);
    }),
    found: engine.derive<CertificateName>('on-demand-server-name', hostTls, (host, read) => {
      if (host === DEFAULT_HOST || isWildcard(host)) return undefined;
      const certificate = shown(host, read);
      return hasChain(host, certificate, read) ? undefined : certificate;
    }),
  };
}

/** The default certificate has no names here, since it answers for whatever has no other. */
function isForSeveralHosts(names: CertificateNames | undefined): boolean {
  const [first, ...others] = names?.dnsNames ?? [];
  return others.length > 0 || (first !== undefined && isWildcard(first));
}
