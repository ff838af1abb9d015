import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { expect, test } from 'vitest';
import { clientOnly } from '../../test/support/odd-certificates.ts';
import { changed, ed25519, makeAuthority, makePair, rsa2048 } from '../../test/support/pki.ts';
import { isWellFormed } from './certificate-form.ts';

const root = (await makeAuthority('Root Authority')).certificate;
const formOf = (pem: string) => isWellFormed(new X509Certificate(pem).raw);
const hex = (text: string) => Buffer.from(text).toString('hex');

test('certificates of every kind are read', async () => {
  const made = [await makePair(['a.example.com']), await makePair(['a'], rsa2048), await makePair(['a'], ed25519)];
  for (const pem of [root, ...made.map(({ chain }) => chain)]) expect(formOf(pem)).toBe(true);
  expect(rootCertificates.filter((pem) => !formOf(pem))).toEqual([]);
});

test.each([
  ['extensions in version 1', 'a003020102', 'a003020100'],
  ['extensions in version 2', 'a003020102', 'a003020101'],
  ['a name that is no UTF-8', `130e${hex('Root')}`, `0c0eff${hex('oot')}`],
  ['a name of four bytes a letter with half of one too many', `130e${hex('Root')}`, `1c0e${hex('Root')}`],
  ['a public key with more bits unused than a byte has', '03420004', '03420804'],
])('%s: not read, although Node may read it', (_, from, to) => {
  const der = new X509Certificate(root).raw.toString('hex');
  expect(der).toContain(from);
  expect(isWellFormed(Buffer.from(der.replace(from, to), 'hex'))).toBe(false);
});

test('what is cut off or longer is not read', () => {
  const { raw } = new X509Certificate(root);
  for (let length = 0; length < raw.length; length++) expect(isWellFormed(raw.subarray(0, length))).toBe(false);
  expect(isWellFormed(Buffer.concat([raw, Buffer.of(0)]))).toBe(false);
});

test('a flag that is neither true nor false is not read', () => {
  expect(formOf(clientOnly.chain)).toBe(true);
  expect(formOf(changed(clientOnly.chain, '0101ff04', '01010104'))).toBe(false);
});
