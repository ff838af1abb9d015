import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';
import { expect, test } from 'vitest';
import { issueLeaf, makeAuthority } from '../cli/certificate-authority.ts';
import { admit, namesOf } from './clients.ts';

/** A self-signed certificate, DER. */
async function certificateOf(
  name: string,
  alternatives: Partial<Record<'dns' | 'url' | 'ip', string[]>>,
): Promise<Uint8Array> {
  const entries = Object.entries(alternatives).flatMap(([type, values]) =>
    values.map((value) => ({ type: type as 'dns', value })),
  );
  const signingAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(signingAlgorithm, true, ['sign', 'verify']);
  const extensions = entries.length > 0 ? [new SubjectAlternativeNameExtension(entries)] : [];
  const options = { name, keys, signingAlgorithm, extensions };
  return new Uint8Array((await X509CertificateGenerator.createSelfSigned(options, webcrypto as never)).rawData);
}

test.each([
  [
    'DNS names and URIs',
    { dns: ['a.example', 'b.example'], url: ['spiffe://mesh/ns/edge/sa/proxy'] },
    ['a.example', 'b.example', 'spiffe://mesh/ns/edge/sa/proxy'],
  ],
  ['the common name where there are no others', {}, ['common.example']],
  ['the common name beside an address', { ip: ['10.0.0.1'] }, ['common.example']],
  ['no common name where there are others', { dns: ['a.example'] }, ['a.example']],
  ['names that pretend to be several', { url: ['spiffe://a/, DNS:admin.example'] }, ['spiffe://a/, DNS:admin.example']],
  ['names with quotes', { url: ['x:"a", DNS:admin'] }, ['x:"a", DNS:admin']],
  ['a name that pretends to be a kind', { dns: ['URI:spiffe://admin'] }, ['URI:spiffe://admin']],
])('a certificate has %s', async (_, alternatives, expected) => {
  expect(namesOf(await certificateOf('CN=common.example', alternatives))).toEqual(expected);
});

test('a certificate without any name has none', async () => {
  expect(namesOf(await certificateOf('O=nobody', {}))).toEqual([]);
});

test('a certificate with two common names has none: which would count?', async () => {
  expect(namesOf(await certificateOf('CN=a.example, CN=b.example', {}))).toEqual([]);
});

test('what certs issues is named as it was told', async () => {
  const { certificate } = await issueLeaf(await makeAuthority(), {
    names: ['edge-1', '10.0.0.1'],
    usage: 'client',
    days: 1,
  });
  const der = Buffer.from(certificate.replace(/-----[A-Z ]+-----/g, ''), 'base64');
  expect(namesOf(der)).toEqual(['edge-1']);
});

const rules = [{ name: 'edge' }, { name: 'shop', namespaces: ['shop'] }, { name: 'blog', namespaces: ['blog', 'www'] }];

test.each([
  [['edge'], { name: 'edge' }],
  [['shop'], { name: 'shop', namespaces: new Set(['shop']) }],
  [['other', 'blog', 'shop'], { name: 'shop', namespaces: new Set(['shop', 'blog', 'www']) }],
  [['shop', 'edge'], { name: 'edge' }],
  [['Edge'], undefined],
  [['edge.example'], undefined],
  [['*'], undefined],
  [[], undefined],
])('the rules let %j in as %j', (names, client) => {
  expect(admit(rules, names)).toEqual(client);
});

test('a rule for any name is not for those that have one of their own', () => {
  const open = [...rules, { name: '*', namespaces: ['public'] }];
  expect(admit(open, ['stranger'])).toEqual({ name: 'stranger', namespaces: new Set(['public']) });
  expect(admit(open, ['shop'])).toEqual({ name: 'shop', namespaces: new Set(['shop']) });
  expect(admit([{ name: '*' }], ['stranger'])).toEqual({ name: 'stranger' });
  expect(admit([{ name: '*' }], [])).toBeUndefined();
});
