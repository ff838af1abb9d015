import { type ClusterState, TODAY } from '../cluster/cluster-state.ts';
import type { Engine, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { objectRef } from '../model/object-ref.ts';
import { diagnose } from './diagnose.ts';
import type { SecretCertificate } from './secret-certificate.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** ingress-nginx warns from here on. */
const WARNING_DAYS = 10;

/** Unit per TLS Secret that is referred to: warns of certificates that have expired or are about to; served they are anyway. */
export function deriveCertificateExpiry(
  engine: Engine,
  { today }: Pick<ClusterState, 'today'>,
  certificates: Table<SecretCertificate>,
): Table<{ readonly diagnostics: readonly Diagnostic[] }> {
  return engine.derive('certificate-expiry', certificates, (key, read) => {
    const day = read(today, TODAY);
    const notAfter = read(certificates, key)?.certificate?.notAfter;
    if (day === undefined || notAfter === undefined) return undefined;
    const days = Math.floor(notAfter / DAY_MS) - day;
    if (days >= WARNING_DAYS) return undefined;
    const date = new Date(notAfter).toISOString().slice(0, 10);
    const diagnostic =
      days < 0
        ? diagnose(
            objectRef('Secret', key),
            'warning',
            'CertificateExpired',
            `the certificate expired on ${date}; it is served all the same`,
            'data',
          )
        : diagnose(
            objectRef('Secret', key),
            'warning',
            'CertificateExpiring',
            `the certificate expires on ${date}`,
            'data',
          );
    return { diagnostics: [diagnostic] };
  });
}
