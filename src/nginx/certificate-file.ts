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

/** The files for TLS to backends, each with its content. */
export function backendSecretFiles(folder: string, { pair, authorities }: BackendSecret): Map<string, PemContent> {
  const files = new Map<string, PemContent>();
  if (pair !== undefined) files.set(certificateFile(folder, pair), pair);
  if (authorities !== undefined) files.set(authoritiesFile(folder, authorities), { authorities });
  return files;
}

/** A certificate with its key, or certificates of authorities. They are written from where they are kept anyway. */
export type PemContent = Pick<Certificate, 'chain' | 'key'> | { readonly authorities: Uint8Array };

export function filePem(content: PemContent): Uint8Array {
  return 'authorities' in content ? content.authorities : certificatePem(content);
}

/** The content of the file: what nginx reads as certificate and as key. */
export function certificatePem({ chain, key }: Pick<Certificate, 'chain' | 'key'>): Buffer {
  return Buffer.concat([Buffer.from(chain), Buffer.from('\n'), Buffer.from(key.reveal()), Buffer.from('\n')]);
}
