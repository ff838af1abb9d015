import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** A certificate with its private key; PEM, the key as PKCS#8. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

export interface LeafOptions {
  /** The first is also its common name. IP addresses are taken as such. At least one. */
  readonly names: readonly string[];
  /** What it is good for: a server must not pass for a client, nor the other way round. */
  readonly usage: 'server' | 'client';
  /** How long it is valid, at most as long as the authority. */
  readonly days: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const AUTHORITY_DAYS = 3650;
const MAX_COMMON_NAME = 64;
/** Clocks of other machines may be behind. */
const BACKDATE_MS = 5 * 60 * 1000;

/** A new certificate authority, valid for ten years. */
export async function makeAuthority(): Promise<KeyPair> {
  const { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, SubjectKeyIdentifierExtension, ...x509 } =
    await loadX509();
  const keys = await makeKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: makeSerialNumber(),
      // Another key under the same name would confuse those who trust both for a while.
      name: `CN=ingress-xds CA ${randomBytes(4).toString('hex')}`,
      ...validity(AUTHORITY_DAYS),
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto as never),
      ],
    },
    webcrypto as never,
  );
  return { certificate: `${certificate.toString('pem')}\n`, key: await exportKey(keys.privateKey) };
}

/** A new key with a certificate that the authority signs. */
export async function issueLeaf(authority: KeyPair, { names, usage, days }: LeafOptions): Promise<KeyPair> {
  const {
    AuthorityKeyIdentifierExtension,
    BasicConstraintsExtension,
    ExtendedKeyUsage,
    ExtendedKeyUsageExtension,
    KeyUsageFlags,
    KeyUsagesExtension,
    SubjectAlternativeNameExtension,
    ...x509
  } = await loadX509();
  const issuer = new x509.X509Certificate(authority.certificate);
  const signingKey = await importKey(authority.key);
  const keys = await makeKeys();
  const { notBefore, notAfter } = validity(days);
  const certificate = await x509.X509CertificateGenerator.create(
    {
      serialNumber: makeSerialNumber(),
      // Readers look at the alternative names; this one is for people, and must not be longer.
      subject: [{ CN: [names[0]!.slice(0, MAX_COMMON_NAME)] }],
      issuer: issuer.subjectName.toJSON(),
      notBefore,
      notAfter: new Date(Math.min(notAfter.getTime(), issuer.notAfter.getTime())),
      publicKey: keys.publicKey,
      signingKey,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage[usage === 'server' ? 'serverAuth' : 'clientAuth']]),
        new SubjectAlternativeNameExtension(
          names.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
        ),
        await AuthorityKeyIdentifierExtension.create(
          await issuer.publicKey.export(webcrypto as never),
          false,
          webcrypto as never,
        ),
      ],
    },
    webcrypto as never,
  );
  return { certificate: `${certificate.toString('pem')}\n`, key: await exportKey(keys.privateKey) };
}

/** Why leaves cannot be issued with this; `undefined` when they can. */
export function whyNoAuthority({ certificate: pem, key }: KeyPair): string | undefined {
  try {
    const certificate = new X509Certificate(pem);
    if (!certificate.ca) return 'is not a certificate authority';
    if (certificate.validToDate.getTime() <= Date.now())
      return `has expired on ${certificate.validToDate.toISOString()}`;
    const privateKey = createPrivateKey(key);
    if (!certificate.checkPrivateKey(privateKey)) return 'does not go with its key';
    const isP256 = privateKey.asymmetricKeyDetails?.namedCurve === 'prime256v1';
    return isP256 ? undefined : 'has a key of another kind than ECDSA on P-256';
  } catch {
    return 'holds no PEM certificate with a PEM private key';
  }
}

/** A large module that nothing else needs; it asks for the first. */
async function loadX509() {
  await import('reflect-metadata');
  return await import('@peculiar/x509');
}

function validity(days: number): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - BACKDATE_MS), notAfter: new Date(now + days * DAY_MS) };
}

/** 127 bits, and positive. */
function makeSerialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x3f) | 0x40;
  return bytes.toString('hex');
}

function makeKeys() {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const { PemConverter } = await loadX509();
  return `${PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`;
}

function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' });
  return webcrypto.subtle.importKey('pkcs8', new Uint8Array(der), ALGORITHM, false, ['sign']);
}
