import type { IngressTls } from '../cluster/objects.ts';
import type { Engine, Reader, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { objectRef } from '../model/object-ref.ts';
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
  const index = ingress.tls.findIndex(({ hosts }) => hosts.some((name) => name.toLowerCase() === host));
  const entry = ingress.tls[index];
  if (entry === undefined) {
    const certificate = ingress.tls
      .flatMap(({ secretName }) => secretKey(ingress, secretName) ?? [])
      .find((key) => covers(read(names, key)?.dnsNames ?? [], host));
    return { tls: true, ...(certificate === undefined ? {} : { certificate }), diagnostics: [] };
  }
  return certificateOfEntry(host, ingress, entry, `spec.tls[${index}].secretName`, read, names);
}

function certificateOfEntry(
  host: HostName,
  ingress: ServedIngress,
  entry: IngressTls,
  field: string,
  read: Reader,
  names: Table<CertificateNames>,
): HostTls {
  const certificate = secretKey(ingress, entry.secretName);
  if (certificate === undefined) return { tls: true, diagnostics: [] };
  const { usable, missing, dnsNames } = read(names, certificate) ?? { usable: false, missing: true, dnsNames: [] };
  if (usable && covers(dnsNames, host)) return { tls: true, certificate, diagnostics: [] };
  const ref = objectRef('Ingress', ingress.key);
  if (missing) {
    const message = `Secret ${certificate} does not exist; the default certificate is served`;
    return { tls: true, diagnostics: [diagnose(ref, 'warning', 'SecretNotFound', message, field)] };
  }
  // A broken Secret is reported once, at the Secret.
  if (!usable) return { tls: true, diagnostics: [] };
  const covered = dnsNames.join(', ') || 'no DNS name';
  const message = `the certificate in Secret ${certificate} covers ${covered}, not ${host}; the default certificate is served`;
  return { tls: true, diagnostics: [diagnose(ref, 'warning', 'CertificateHostMismatch', message, field)] };
}

function secretKey(ingress: ServedIngress, secretName: string | undefined): CertificateName | undefined {
  return secretName ? `${ingress.namespace}/${secretName}` : undefined;
}
