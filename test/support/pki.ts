import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

const p256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
export const rsa2048 = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
};
export const ed25519 = { name: 'Ed25519' };
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
  algorithm: typeof p256 | typeof rsa2048 | typeof ed25519 = p256,
): Promise<Pair> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
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

/** The same certificate with other bytes in place of some, wherever they stand. Its signature becomes wrong, which no server looks at. */
export function changed(pem: string, from: string, to: string): string {
  const hex = Buffer.from(pem.replace(/-----.*-----/g, ''), 'base64').toString('hex');
  if (!hex.includes(from)) throw new Error(`the certificate has no ${from}`);
  const base64 = Buffer.from(hex.replaceAll(from, to), 'hex').toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${(base64.match(/.{1,64}/g) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`;
}

/** An authority that signs certificates. */
export interface Authority {
  /** PEM of its own certificate. */
  readonly certificate: string;
  /** A certificate for these DNS names. Its chain holds the authorities between it and the root, not the root. */
  issue(...names: readonly string[]): Promise<Pair>;
  /** An authority below this one. */
  below(name: string): Promise<Authority>;
}

/** A root authority. */
export async function makeAuthority(name: string): Promise<Authority> {
  const keys = await webcrypto.subtle.generateKey(p256, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      ...validity(),
      name: `CN=${name}`,
      keys,
      signingAlgorithm: p256,
      extensions: [new BasicConstraintsExtension(true)],
    },
    webcrypto as never,
  );
  return authority(certificate, keys.privateKey, '');
}

function authority(own: X509Certificate, key: webcrypto.CryptoKey, chain: string): Authority {
  const sign = async (
    name: string,
    extensions: readonly (BasicConstraintsExtension | SubjectAlternativeNameExtension)[],
  ) => {
    const keys = await webcrypto.subtle.generateKey(p256, true, ['sign', 'verify']);
    const certificate = await X509CertificateGenerator.create(
      {
        ...validity(),
        subject: `CN=${name}`,
        issuer: own.subject,
        signingKey: key,
        publicKey: keys.publicKey,
        signingAlgorithm: p256,
        extensions: [...extensions],
      },
      webcrypto as never,
    );
    return { certificate, keys };
  };
  return {
    certificate: pem(own),
    issue: async (...names) => {
      const alternatives = new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value })));
      const { certificate, keys } = await sign(names[0] ?? 'nobody', [alternatives]);
      const exported = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
      return { chain: `${pem(certificate)}${chain}`, key: `${PemConverter.encode(exported, 'PRIVATE KEY')}\n` };
    },
    below: async (name) => {
      const { certificate, keys } = await sign(name, [new BasicConstraintsExtension(true)]);
      return authority(certificate, keys.privateKey, `${pem(certificate)}${chain}`);
    },
  };
}

function pem(certificate: X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}

function validity() {
  return { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + 365 * DAY_MS) };
}
