import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { CertificateMemory } from '../support/process/certificate-memory-main.ts';

const SECRETS = 400;
/** Of some 525 bytes each, so that a chain has about 7 KB. */
const EXTRA_CERTIFICATES = 12;

/** Two processes make a thousand keys; a machine that runs other tests takes long for that. */
const DEADLINE_MS = 120_000;

async function measure(extraCertificates: number, flags: readonly string[]): Promise<CertificateMemory> {
  const program = join(import.meta.dirname, '../support/process/certificate-memory-main.ts');
  const args = ['--expose-gc', program, String(SECRETS), String(extraCertificates), ...flags];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: DEADLINE_MS / 2 });
  return JSON.parse(stdout) as CertificateMemory;
}

// What is the same for chains of any length cancels out: hosts, filter chains, names.
test.each([
  ['by default', []],
  ['with certificates on demand', ['--tls-on-demand']],
])(
  'the bytes of certificates are held once, also after they were sent: %s',
  async (_, flags) => {
    const short = await measure(0, flags);
    const long = await measure(EXTRA_CERTIFICATES, flags);
    const perPemByte = (long.heldBytes - short.heldBytes) / (long.pemBytes - short.pemBytes);
    expect(long.pemBytes / SECRETS).toBeGreaterThan(6_000);
    // Otherwise it was not measured.
    expect(perPemByte).toBeGreaterThan(0.7);
    expect(perPemByte).toBeLessThan(1.4);
  },
  DEADLINE_MS,
);
