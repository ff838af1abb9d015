import type { Engine, Reader, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import { type CertificateName, DEFAULT_HOST, type HostName } from '../model/proxy-model.ts';
import { covers } from './certificate.ts';
import { diagnose } from './diagnose.ts';
import { type HostIndex, ingressesOf } from './ingresses-by-host.ts';
import type { CertificateNames } from './secret-certificate.ts';
import type { ServedIngress } from './served-ingress.ts';

/** How a host is reached over https. */
export interface HostTls {
  /** An Ingress of the host has `spec.tls`: plain requests are redirected, whatever became of the certificate. */
  readonly tls: boolean;
  /** Absent for the default certificate. */
  readonly certificate?: CertificateName;
  readonly diagnostics: readonly Diagnostic[];
}

/** Unit per host, and one for the default server, which always has the default certificate. */
export function deriveHostTls(engine: Engine, hosts: HostIndex, names: Table<CertificateNames>): Table<HostTls> {
  return engine.derive<HostTls>('host-tls', hosts.byHost, (host, read) => {
    const decisive =
      host === DEFAULT_HOST ? undefined : ingressesOf(host, read, hosts).find(({ tls }) => tls.length > 0);
    return decisive === undefined ? { tls: false, diagnostics: [] } : chooseCertificate(host, decisive, read, names);
  });
}

/**
 * The first Ingress of a host with `spec.tls` decides, even when its entries do not name the host: by the entry that names the
 * host, else by any of its Secrets that covers it, else the default certificate is served.
 */
function chooseCertificate(
  host: HostName,
  ingress: ServedIngress,
  read: Reader,
  names: Table<CertificateNames>,
): HostTls {
  const naming = ingress.tls.findIndex(({ hosts }) => hosts.some((name) => name.toLowerCase() === host));
  const candidates = [...ingress.tls.entries()]
    .filter(([index]) => naming < 0 || index === naming)
    .flatMap(([index, { secretName }]) => {
      if (!secretName) return [];
      const secret = `${ingress.namespace}/${secretName}`;
      return [{ secret, index, names: read(names, secret) ?? NO_NAMES }];
    });
  const certificate = candidates.find((candidate) => covers(candidate.names.dnsNames, host))?.secret;
  if (certificate !== undefined) return { tls: true, certificate, diagnostics: [] };
  return { tls: true, diagnostics: candidates.flatMap((candidate) => reportUnfit(host, ingress, candidate)) };
}

interface Candidate {
  readonly secret: ObjectKey;
  /** Of its entry in `spec.tls`. */
  readonly index: number;
  readonly names: CertificateNames;
}

const NO_NAMES: CertificateNames = { usable: false, missing: true, dnsNames: [] };

/** Why a Secret does not give the host its certificate. A broken Secret is reported once, at the Secret. */
function reportUnfit(host: HostName, ingress: ServedIngress, { secret, index, names }: Candidate): Diagnostic[] {
  const ref = objectRef('Ingress', ingress.key);
  const field = `spec.tls[${index}].secretName`;
  if (names.missing) {
    const message = `Secret ${secret} does not exist; the default certificate is served`;
    return [diagnose(ref, 'warning', 'SecretNotFound', message, field)];
  }
  if (!names.usable) return [];
  const covered = names.dnsNames.join(', ') || 'no DNS name';
  const message = `the certificate in Secret ${secret} covers ${covered}, not ${host}; the default certificate is served`;
  return [diagnose(ref, 'warning', 'CertificateHostMismatch', message, field)];
}
