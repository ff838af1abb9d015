import { createHash } from 'node:crypto';
import type { BackendSecret, Certificate } from '../model/proxy-model.ts';

/** Where a certificate is kept for nginx. A rotated one is another file, so the configuration that names it changes with it. */
export function certificateFile(folder: string, { chain, key }: Pick<Certificate, 'chain' | 'key'>): string {
  const hash = createHash('sha256').update(chain).update('\0').update(key.reveal()).digest('hex').slice(0, 32);
  return `${folder}/certificates/${hash}.pem`;
}

/** Where the certificates of authorities are kept; named in the same way. */
export function authoritiesFile(folder: string, authorities: Uint8Array): string {
  return `${folder}/certificates/${createHash('sha256').update(authorities).digest('hex').slice(0, 32)}.ca.pem`;
}

/** Where the OCSP response of a certificate is kept; `undefined` where there is none. Named in the same way. */
export function stapleFile(folder: string, { ocspResponse }: Pick<Certificate, 'ocspResponse'>): string | undefined {
  if (ocspResponse === undefined) return undefined;
  return `${folder}/certificates/${createHash('sha256').update(ocspResponse).digest('hex').slice(0, 32)}.ocsp`;
}

/** The files for TLS to backends, each with its content. */
export function backendSecretFiles(folder: string, { pair, authorities }: BackendSecret): Map<string, FileContent> {
  const files = new Map<string, FileContent>();
  if (pair !== undefined) files.set(certificateFile(folder, pair), pair);
  if (authorities !== undefined) files.set(authoritiesFile(folder, authorities), { bytes: authorities });
  return files;
}

/** A certificate with its key, or bytes as they are. They are written from where they are kept anyway. */
export type FileContent = Pick<Certificate, 'chain' | 'key'> | { readonly bytes: Uint8Array };

export function fileBytes(content: FileContent): Uint8Array {
  return 'bytes' in content ? content.bytes : certificatePem(content);
}

/** The content of the file: what nginx reads as certificate and as key. */
export function certificatePem({ chain, key }: Pick<Certificate, 'chain' | 'key'>): Buffer {
  return Buffer.concat([Buffer.from(chain), Buffer.from('\n'), Buffer.from(key.reveal()), Buffer.from('\n')]);
}

/** What the Lua module reads: the same, and the OCSP response in a block of its own, which nothing else takes for one of its. */
export function runTimePem(certificate: Pick<Certificate, 'chain' | 'key' | 'ocspResponse'>): string {
  const { ocspResponse } = certificate;
  const pem = certificatePem(certificate).toString('latin1');
  if (ocspResponse === undefined) return pem;
  const content = Buffer.from(ocspResponse).toString('base64');
  return `${pem}-----BEGIN OCSP RESPONSE-----\n${content}\n-----END OCSP RESPONSE-----\n`;
}
