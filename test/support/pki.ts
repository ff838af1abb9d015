import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';

const p256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
export const rsa2048 = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
};
const DAY_MS = 24 * 60 * 60 * 1000;

export interface Pair {
  /** PEM */
  readonly chain: string;
  /** PEM, PKCS#8 */
  readonly key: string;
}

/** A self-signed certificate for these DNS names, P-256 unless said otherwise; each call makes a new one. */
export async function makePair(
  names: readonly string[],
  algorithm: typeof p256 | typeof rsa2048 = p256,
): Promise<Pair> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${names[0] ?? 'nobody'}`,
      notBefore: new Date(Date.now() - DAY_MS),
      notAfter: new Date(Date.now() + 365 * DAY_MS),
      keys,
      signingAlgorithm: algorithm,
      extensions: [new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value })))],
    },
    webcrypto as never,
  );
  const key = PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { chain: `${certificate.toString('pem')}\n`, key: `${key}\n` };
}
