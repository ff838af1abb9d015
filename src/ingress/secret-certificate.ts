import type { MemoryEntry } from '../cluster/cluster-state.ts';
import type { Secret } from '../cluster/objects.ts';
import type { Engine, Key, Pass, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import type { Certificate } from '../model/proxy-model.ts';
import { parseTlsSecret } from './certificate.ts';
import { diagnose } from './diagnose.ts';
import type { IngressDecision } from './served-ingress.ts';

/** What became of a TLS Secret. */
export interface SecretCertificate {
  /**
   * `current`: as in the Secret. `held`: the Secret is broken, its last good pair is served. `broken`: and there never was one.
   * `missing`: there is no such Secret, and nothing is held, so that a compromised key can be withdrawn.
   */
  readonly state: 'current' | 'held' | 'broken' | 'missing';
  readonly certificate?: Certificate;
  readonly diagnostics: readonly Diagnostic[];
}

/** Of a TLS Secret, what the choice of a certificate depends on: a rotation under equal names stops here. */
export interface CertificateNames {
  readonly usable: boolean;
  readonly missing: boolean;
  readonly dnsNames: readonly string[];
}

export interface CertificateSources {
  readonly servedIngresses: Table<IngressDecision>;
  readonly secrets: Table<Secret>;
  readonly memory: Table<MemoryEntry>;
  /** `--default-ssl-certificate` */
  readonly defaultSslCertificate: ObjectKey | undefined;
}

/** Unit per TLS Secret that a served Ingress or the flag refers to. */
export function deriveSecretCertificates(engine: Engine, sources: CertificateSources): Table<SecretCertificate> {
  const { secrets, memory, defaultSslCertificate } = sources;
  const references = engine.group<IngressDecision>(
    'secret-references',
    sources.servedIngresses,
    (_, { served }) => new Map((served?.tls ?? []).flatMap(({ secretName }) => reference(served, secretName))),
    defaultSslCertificate === undefined ? [] : [defaultSslCertificate],
  );
  return engine.derive<SecretCertificate>('certificate', references, (key, read) => {
    const secret = read(secrets, key);
    if (secret === undefined) return { state: 'missing', diagnostics: [] };
    const parsed = parseTlsSecret(key, secret);
    if ('certificate' in parsed) return { state: 'current', certificate: parsed.certificate, diagnostics: [] };
    const lastGood = read(memory, memoryKey(key))?.value as Certificate | undefined;
    const instead = lastGood === undefined ? 'the default certificate' : 'the last good pair';
    const message = `the Secret ${parsed.reason}; ${instead} is served`;
    const diagnostics = [diagnose(objectRef('Secret', key), 'warning', 'SecretInvalid', message, 'data')];
    return lastGood === undefined
      ? { state: 'broken', diagnostics }
      : { state: 'held', certificate: lastGood, diagnostics };
  });
}

export function deriveCertificateNames(
  engine: Engine,
  certificates: Table<SecretCertificate>,
): Table<CertificateNames> {
  return engine.derive<CertificateNames>('certificate-names', certificates, (key, read) => {
    const { state, certificate } = read(certificates, key) ?? { state: 'missing' };
    return { usable: certificate !== undefined, missing: state === 'missing', dnsNames: certificate?.dnsNames ?? [] };
  });
}

/** What a pass leaves to remember: good pairs, until their Secret is deleted or nobody refers to it any more. */
export function* certificateMemory(
  pass: Pass,
  certificates: Table<SecretCertificate>,
): Iterable<{ readonly key: Key; readonly value: MemoryEntry | undefined }> {
  for (const [key, result] of pass.of(certificates)) {
    if (result === undefined || result.state === 'missing') yield { key: memoryKey(key), value: undefined };
    else if (result.state === 'current') yield { key: memoryKey(key), value: { value: result.certificate } };
  }
}

function memoryKey(secret: ObjectKey): Key {
  return `certificate/${secret}`;
}

function reference(
  served: { readonly namespace: string } | undefined,
  secretName: string | undefined,
): [ObjectKey, true][] {
  return served === undefined || !secretName ? [] : [[`${served.namespace}/${secretName}`, true]];
}
