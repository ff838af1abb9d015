import { createHash } from 'node:crypto';
import type { Certificate } from '../model/proxy-model.ts';

/** Where a certificate is kept for nginx. A rotated one is another file, so the configuration that names it changes with it. */
export function certificateFile(folder: string, { chain, key }: Pick<Certificate, 'chain' | 'key'>): string {
  const hash = createHash('sha256').update(chain).update('\0').update(key.reveal()).digest('hex').slice(0, 32);
  return `${folder}/certificates/${hash}.pem`;
}

/** The content of the file: what nginx reads as certificate and as key. */
export function certificatePem({ chain, key }: Certificate): Buffer {
  return Buffer.concat([Buffer.from(chain), Buffer.from('\n'), Buffer.from(key.reveal()), Buffer.from('\n')]);
}
