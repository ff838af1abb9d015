import 'reflect-metadata';
import { createPrivateKey, generateKeyPairSync, webcrypto } from 'node:crypto';
import { inspect } from 'node:util';
import { PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';
import { describe, expect, test } from 'vitest';
import * as odd from '../../test/support/odd-certificates.ts';
import { makePair } from '../../test/support/pki.ts';
import type { Certificate } from '../model/proxy-model.ts';
import { covers, type ParsedCertificate, parseAuthorities, parseTlsSecret } from './certificate.ts';
import { type PemPair, secret, tlsSecret } from './testing.ts';

const shop = await makePair(['shop.example.com', '*.Shop.example.com']);
const other = await makePair(['other.example.com']);

type Algorithm = Parameters<typeof webcrypto.subtle.generateKey>[0];
const ecdsa = (namedCurve: string) => ({ name: 'ECDSA', namedCurve, hash: 'SHA-256' });
const rsa = (modulusLength: number) => ({
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength,
  publicExponent: new Uint8Array([1, 0, 1]),
});

async function pairOf(algorithm: Algorithm, name = 'CN=shop.example.com', ipOnly = false): Promise<PemPair> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const extensions = ipOnly ? [new SubjectAlternativeNameExtension([{ type: 'ip', value: '192.0.2.1' }])] : [];
  const certificate = await X509CertificateGenerator.createSelfSigned(
    { name, keys, signingAlgorithm: algorithm as never, extensions },
    webcrypto as never,
  );
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { chain: certificate.toString('pem'), key: PemConverter.encode(pkcs8, 'PRIVATE KEY') };
}

/** No library at hand makes certificates on this curve. Valid for 100 years, used nowhere. */
const secp256k1: PemPair = {
  chain: `-----BEGIN CERTIFICATE-----
MIIBiTCCATCgAwIBAgIUUedta3zfwG0MTLppl5BvzA7ldYUwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQc2hvcC5leGFtcGxlLmNvbTAgFw0yNjExMjkxODM5NDVaGA8y
MTI2MTEwNTE4Mzk0NVowGzEZMBcGA1UEAwwQc2hvcC5leGFtcGxlLmNvbTBWMBAG
ByqGSM49AgEGBSuBBAAKA0IABIcazEVFMXTdck6+uVOIbA5pa/LpnhRu0XyQrHvn
SPcB4LmH80tNVtOMR3H4yGFpCOHn1FDQgeF/3E8R3NSgwayjUzBRMB0GA1UdDgQW
BBSoXWgjVPVZLYDySd61iJhQGsYnIzAfBgNVHSMEGDAWgBSoXWgjVPVZLYDySd61
iJhQGsYnIzAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIH6YyysF
Nvl0BnsudoSrTR15HfbiebuNooyBb7l9SUpsAiAbyZ5pQcQoiJ4vTxrfDMS40VgY
T7wGDvm6AE9e8H1yqA==
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQg+vsWOI6XsYq774r5OAue
HYLH6wspZ6MmTvMkRuPHE0ShRANCAASHGsxFRTF03XJOvrlTiGwOaWvy6Z4UbtF8
kKx750j3AeC5h/NLTVbTjEdx+MhhaQjh59RQ0IHhf9xPEdzUoMGs
-----END PRIVATE KEY-----
`,
};

function certificateOf(parsed: ParsedCertificate): Certificate {
  if ('reason' in parsed) throw new Error(parsed.reason);
  return parsed.certificate;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

function isPartOf(whole: Uint8Array | undefined, part: Uint8Array): boolean {
  if (whole?.buffer !== part.buffer) return false;
  return part.byteOffset >= whole.byteOffset && part.byteOffset + part.length <= whole.byteOffset + whole.length;
}

const parse = (pair: PemPair) => parseTlsSecret('shop/tls', tlsSecret('shop/tls', pair));
const namesOf = (pair: PemPair) => {
  const parsed = parse(pair);
  return 'certificate' in parsed ? parsed.certificate.dnsNames : parsed.reason;
};

describe('a TLS Secret', () => {
  test('gives its pair with lower-case, sorted names', () => {
    const parsed = parse(shop);
    expect(parsed).toMatchObject({
      certificate: { name: 'shop/tls', dnsNames: ['*.shop.example.com', 'shop.example.com'] },
    });
    const { notAfter, key } = certificateOf(parsed);
    expect(notAfter).toBeGreaterThan(Date.now());
    expect(createPrivateKey(textOf(key.reveal())).equals(createPrivateKey(shop.key))).toBe(true);
  });

  test('is canonical: texts around the blocks change nothing', () => {
    const noisy = { chain: `Bag Attributes\n${shop.chain}\n\n`, key: `\n# key\n${shop.key}` };
    expect(parse(noisy)).toEqual(parse(shop));
  });

  test('keeps the chain in order', () => {
    const { chain } = certificateOf(parse({ ...shop, chain: shop.chain + other.chain }));
    expect(textOf(chain)).toBe(shop.chain + other.chain);
  });

  test('holds no certificate that Envoy could not read, be it the first, another or an authority', () => {
    const { chain: bad } = odd.wrongVersion;
    const reason = (which: string) => ({
      reason: `holds a certificate in ${which} whose encoding breaks the rules of X.509`,
    });
    expect(parse(odd.wrongVersion)).toEqual(reason('tls.crt (number 1 of 1)'));
    expect(parse({ ...shop, chain: shop.chain + bad })).toEqual(reason('tls.crt (number 2 of 2)'));
    expect(parseAuthorities(Buffer.from(shop.chain + bad))).toEqual(reason('ca.crt (number 2 of 2)'));
  });

  test('may hold keys in the older forms', () => {
    const { privateKey, publicKey: _ } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    expect(parse({ ...shop, key: privateKey.export({ type: 'pkcs1', format: 'pem' }).toString() })).toEqual({
      reason: expect.stringContaining('does not belong'),
    });
    const sec1 = createPrivateKey(shop.key).export({ type: 'sec1', format: 'pem' }).toString();
    const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
    expect(textOf(certificateOf(parse({ ...shop, key: parameters + sec1 })).key.reveal())).toBe(sec1);
  });

  test('is kept once: what is made of it are views of its bytes, in whatever form the key is', async () => {
    const rsaPair = await pairOf(rsa(2048));
    const pkcs1 = createPrivateKey(rsaPair.key).export({ type: 'pkcs1', format: 'pem' }).toString();
    const sec1 = createPrivateKey(shop.key).export({ type: 'sec1', format: 'pem' }).toString();
    for (const pair of [shop, { ...rsaPair, key: pkcs1 }, { ...shop, key: sec1 }]) {
      const written = { chain: `subject=shop\n${pair.chain.trim()}\n`, key: `\n${pair.key}` };
      const made = tlsSecret('shop/tls', written);
      const { chain, key } = certificateOf(parseTlsSecret('shop/tls', made));
      expect([isPartOf(made.data['tls.crt'], chain), isPartOf(made.data['tls.key'], key.reveal())]).toEqual([
        true,
        true,
      ]);
      expect([textOf(chain), textOf(key.reveal())]).toEqual([`${pair.chain.trim()}\n`, pair.key]);
    }
  });

  test('in another form than the canonical one has bytes of its own', () => {
    const windows = { chain: shop.chain.replaceAll('\n', '\r\n'), key: shop.key.replaceAll('\n', '\r\n') };
    const { chain, key } = certificateOf(parse(windows));
    expect([textOf(chain), textOf(key.reveal())]).toEqual([shop.chain, shop.key]);
  });

  test.each<[string, () => PemPair, string]>([
    ['a key of another certificate', () => ({ chain: shop.chain, key: other.key }), 'does not belong'],
    ['a chain in the wrong order', () => ({ ...shop, chain: other.chain + shop.chain }), 'does not belong'],
    ['no PEM', () => ({ ...shop, chain: 'hello' }), 'no certificate'],
    ['an empty chain', () => ({ ...shop, chain: '' }), 'no tls.crt'],
    ['an empty key', () => ({ ...shop, key: '' }), 'no tls.key'],
    ['no key block', () => ({ ...shop, key: shop.chain }), 'no private key'],
    ['a torn certificate', () => ({ ...shop, chain: shop.chain + other.chain.slice(0, 200) }), 'broken certificate'],
    [
      'a broken tail',
      () => ({ ...shop, chain: shop.chain + other.chain.replace(/\n.{20}/, '\nAAAA') }),
      'number 2 of 2',
    ],
    ['a broken key', () => ({ ...shop, key: shop.key.replace(/\n.{20}/, '\nAAAA') }), 'broken private key'],
    [
      'an encrypted key',
      () => ({
        ...shop,
        key: createPrivateKey(shop.key)
          .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
          .toString(),
      }),
      'encrypted',
    ],
  ])('is refused with %s', (_, pair, reason) => {
    expect(parse(pair())).toEqual({ reason: expect.stringContaining(reason) });
  });

  test('is refused when a key is missing', () => {
    expect(parseTlsSecret('a/b', secret('a/b', { 'ca.crt': shop.chain }))).toEqual({ reason: 'has no tls.crt' });
  });

  test.each([
    ['RSA 2048', rsa(2048)],
    ['P-384', ecdsa('P-384')],
    ['P-521', ecdsa('P-521')],
    ['Ed25519', { name: 'Ed25519' }],
  ])('may hold %s', async (_, algorithm) => {
    expect(namesOf(await pairOf(algorithm))).toEqual(['shop.example.com']);
  });

  test('must not hold a weak key, or one on a curve that Envoy does not know', async () => {
    expect(namesOf(await pairOf(rsa(1024)))).toContain('1024 bits');
    expect(namesOf(secp256k1)).toContain('secp256k1');
  });

  test('the common name counts only without a subject alternative name', async () => {
    expect(namesOf(await pairOf(ecdsa('P-256'), 'O=Shop, CN=Shop.example.com'))).toEqual(['shop.example.com']);
    expect(namesOf(await pairOf(ecdsa('P-256'), 'CN=shop.example.com', true))).toEqual([]);
    expect(namesOf(await pairOf(ecdsa('P-256'), 'CN=Fake Certificate'))).toEqual([]);
  });

  test('a forged name that looks like two is no name', async () => {
    expect(namesOf(await makePair(['a.example.com, DNS:bank.example.com']))).toEqual([]);
  });

  test('never shows its key', () => {
    const parsed = parse(shop);
    expect(JSON.stringify(parsed) + inspect(parsed, { depth: 9 })).not.toContain(shop.key.split('\n')[1]);
    const broken = parse({ ...shop, key: shop.key.replace('BEGIN', 'BEGIM') });
    expect(JSON.stringify(broken)).not.toContain(shop.key.split('\n')[1]);
  });
});

test('a wildcard covers exactly one label', () => {
  const names = ['*.example.com', 'example.org'];
  const hosts = ['a.example.com', 'example.org', 'example.com', 'a.b.example.com', 'a.example.org'];
  expect(hosts.filter((host) => covers(names, host))).toEqual(['a.example.com', 'example.org']);
});

test('a key as long as no key is refused at once', () => {
  const key = '-----BEGIN PRIVATE KEY-----\n'.repeat(100_000);
  const begin = performance.now();
  expect(parse({ chain: shop.chain, key })).toEqual({
    reason: `has a tls.key of ${key.length} bytes, more than any key has`,
  });
  expect(performance.now() - begin).toBeLessThan(1_000);
});
