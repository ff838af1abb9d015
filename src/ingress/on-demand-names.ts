/**
 * Which server names the TLS listener has to know when certificates are looked up on demand. A certificate for one exact host is
 * found by that host's name, so it stands in no listener and costs the proxy nothing before somebody asks for it; certificates
 * with a wildcard or with several names keep their chains.
 */
import { deepEqual, type Engine, type Reader, type Table } from '../derive.ts';
import {
  type CertificateName,
  DEFAULT_CERTIFICATE,
  DEFAULT_HOST,
  type HostName,
  ON_DEMAND,
  type ServerNameTarget,
} from '../model/proxy-model.ts';
import { isWildcard, wildcardOf } from './host.ts';
import type { CertificateNames } from './secret-certificate.ts';
import type { HostTls } from './tls.ts';

export interface OnDemandSources {
  readonly hostTls: Table<HostTls>;
  /** Of each name that a certificate carries, who is to answer it. */
  readonly named: Table<ServerNameTarget>;
  /** Of hosts that no certificate names, who is to answer them, where it is not the wildcard's or the default. */
  readonly exceptions: Table<ServerNameTarget>;
  /** Who is to answer a wildcard, where there is one. */
  readonly ofWildcard: (wildcard: HostName, read: Reader) => ServerNameTarget | undefined;
  readonly certificateNames: Table<CertificateNames>;
}

export interface OnDemandNames {
  /** What the listener has to know instead of `named` and `exceptions`; some lead to `ON_DEMAND`. */
  readonly named: Table<ServerNameTarget>;
  readonly exceptions: Table<ServerNameTarget>;
  /** Exact hosts, each with the certificate that is found by its name. Every exact host is here or has a chain. */
  readonly found: Table<CertificateName>;
}

const FOUND: ServerNameTarget = { certificate: ON_DEMAND };

export function deriveOnDemandNames(engine: Engine, sources: OnDemandSources): OnDemandNames {
  const { hostTls, named, exceptions, ofWildcard } = sources;
  const shown = (host: HostName, read: Reader): ServerNameTarget => {
    const wildcard = wildcardOf(host);
    const byWildcard = wildcard === undefined ? undefined : ofWildcard(wildcard, read);
    return read(exceptions, host) ?? read(named, host) ?? byWildcard ?? { certificate: DEFAULT_CERTIFICATE };
  };
  /** The certificate that is found by the name of the host, if that is not to be answered by a chain. */
  const foundFor = (host: HostName, target: ServerNameTarget, read: Reader): CertificateName | undefined => {
    // What is looked up has TLS as in the settings. A secret that is found is called like its host, so that one may not be called
    // like the default certificate's.
    if ('passthrough' in target || target.tls !== undefined || host === DEFAULT_CERTIFICATE) return undefined;
    return isForSeveralHosts(read(sources.certificateNames, target.certificate)) ? undefined : target.certificate;
  };
  const lead = (host: HostName, read: Reader): ServerNameTarget | undefined => {
    const target = shown(host, read);
    const isFound = read(hostTls, host) !== undefined && foundFor(host, target, read) !== undefined;
    const wanted = isFound ? FOUND : target;
    const wildcard = wildcardOf(host);
    const unnamed = (wildcard !== undefined && ofWildcard(wildcard, read)) || FOUND;
    return deepEqual(wanted, unnamed) ? undefined : wanted;
  };
  // A wildcard cannot be looked up: no client asks for it by this name.
  return {
    named: engine.derive<ServerNameTarget>('chain-server-name', named, (name, read) =>
      isWildcard(name) ? ofWildcard(name, read) : lead(name, read),
    ),
    exceptions: engine.derive<ServerNameTarget>('chain-server-name-exception', hostTls, (host, read) => {
      if (host === DEFAULT_HOST || read(named, host) !== undefined) return undefined;
      return isWildcard(host) ? ofWildcard(host, read) : lead(host, read);
    }),
    found: engine.derive<CertificateName>('on-demand-server-name', hostTls, (host, read) =>
      host === DEFAULT_HOST || isWildcard(host) ? undefined : foundFor(host, shown(host, read), read),
    ),
  };
}

/** The default certificate has no names here, since it answers for whatever has no other. */
function isForSeveralHosts(names: CertificateNames | undefined): boolean {
  const [first, ...others] = names?.dnsNames ?? [];
  return others.length > 0 || (first !== undefined && isWildcard(first));
}
