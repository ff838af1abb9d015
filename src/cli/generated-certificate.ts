import { webcrypto } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerPair } from '../files/echo-listener.ts';
import { PrivateKey } from '../model/proxy-model.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * The certificate of the default server when `--default-ssl-certificate` names none: self-signed, new at every start, with the
 * subject, names and life time that ingress-nginx gives its own.
 * @param type that of ingress-nginx is `RSA`; `ECDSA` takes a hundredth of the time, for what no client will compare with it.
 */
export async function generateCertificate(type: 'RSA' | 'ECDSA' = 'RSA'): Promise<{ chain: string; key: PrivateKey }> {
  // Large modules that only this function needs; the second asks for the first.
  await import('reflect-metadata');
  const { PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } = await import('@peculiar/x509');
  const signingAlgorithm = { name: type === 'RSA' ? 'RSASSA-PKCS1-v1_5' : 'ECDSA', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(
    type === 'RSA'
      ? { ...signingAlgorithm, modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) }
      : { ...signingAlgorithm, namedCurve: 'P-256' },
    true,
    ['sign', 'verify'],
  );
  const now = Date.now();
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: 'CN=Kubernetes Ingress Controller Fake Certificate, O=Acme Co',
      notBefore: new Date(now),
      notAfter: new Date(now + 365 * DAY_MS),
      keys,
      signingAlgorithm,
      extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: 'ingress.local' }])],
    },
    webcrypto as never,
  );
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    chain: `${certificate.toString('pem')}\n`,
    key: new PrivateKey(`${PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n`),
  };
}

/** What the echo backend shows to proxies that speak TLS with it. */
export async function echoPair(): Promise<ServerPair> {
  const { chain, key } = await generateCertificate('ECDSA');
  return { cert: chain, key: Buffer.from(key.reveal()).toString() };
}

/**
 * As `generateCertificate`, but kept in the runtime folder of the process tree (mode 0600), so that a restarted control plane
 * goes on with the same.
 */
export async function keptCertificate(folder: string): Promise<{ chain: string; key: PrivateKey }> {
  const path = join(folder, 'generated-certificate.json');
  try {
    const kept = JSON.parse(await readFile(path, 'utf8')) as { chain: string; key: string };
    return { chain: kept.chain, key: new PrivateKey(kept.key) };
  } catch {
    // The first start, or a file cut short by a crash: either way a new one is as good.
  }
  const { chain, key } = await generateCertificate();
  await writeFile(`${path}.new`, JSON.stringify({ chain, key: Buffer.from(key.reveal()).toString() }), { mode: 0o600 });
  await rename(`${path}.new`, path);
  return { chain, key };
}
