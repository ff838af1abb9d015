import { describe, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import type { IngressTls, Secret } from '../cluster/objects.ts';
import { type Certificate, DEFAULT_CERTIFICATE } from '../model/proxy-model.ts';
import { type Change, ingress, remove, rule, secret, service, tlsSecret, World } from './testing.ts';

const generated = await makePair(['ingress.local']);
const shop = await makePair(['shop.example.com']);
const renewed = await makePair(['shop.example.com']);
const wildcard = await makePair(['*.example.com']);
const wildcardOrg = await makePair(['*.example.org']);
const first = await makePair(['a.example.org', 'b.example.org', 'unclaimed.example.org']);
const second = await makePair(['a.example.org', 'b.example.org', 'unclaimed.example.org']);
const host = 'shop.example.com';

const secured = (tls: readonly IngressTls[], key = 'shop/web', creationTimestamp = 0, name = host) =>
  ingress(key, { rules: [rule(name, { '/': 'web:80' })], tls, creationTimestamp });
const entry = (secretName: string | undefined, ...hosts: string[]): IngressTls => ({
  hosts,
  ...(secretName === undefined ? {} : { secretName }),
});

function world(...changes: Change[]): World {
  const made = new World(generated);
  made.state.localEndpoints.set('shop/web/80', { always: [{ ip: '127.0.0.1', port: 3000 }] });
  made.apply(service('shop/web'), ...changes);
  return made;
}

function chainIn({ model }: World, name: string): string | undefined {
  const certificate = model.certificates.get(name);
  return certificate && Buffer.from(certificate.chain).toString();
}

const pairs = [
  tlsSecret('shop/tls', shop),
  tlsSecret('shop/wild', wildcard),
  tlsSecret('other/tls', shop),
  tlsSecret('shop/else', first),
];

describe('the certificate of a host', () => {
  test.each<[string, readonly IngressTls[], string | undefined, string?]>([
    ['is that of the entry that names it', [entry('wild', 'x.example.com'), entry('tls', host)], 'shop/tls'],
    ['whatever the case', [entry('tls', 'SHOP.example.com')], 'shop/tls'],
    ['may be a wildcard', [entry('wild', host)], 'shop/wild'],
    [
      'is the first Secret that covers it when no entry names it',
      [entry('gone'), entry('tls'), entry('wild')],
      'shop/tls',
    ],
    ['is the default without a Secret', [entry(undefined, host)], undefined],
    ['is the default if there is no Secret at all', [entry(undefined)], undefined],
    ['is the default if the only Secret is missing', [entry('gone')], undefined, 'SecretNotFound'],
    ['is the default if no Secret covers it', [entry('else')], undefined, 'CertificateHostMismatch'],
    ['is the default if the Secret is missing', [entry('gone', host)], undefined, 'SecretNotFound'],
  ])('%s', (_, tls, certificate, code) => {
    const made = world(...pairs, secured(tls));
    expect(made.build.hostTls.get(host)).toMatchObject({ tls: true });
    expect(made.build.hostTls.get(host)?.certificate).toBe(certificate);
    expect(made.routes(host)).toEqual(['prefix / → shop/web/80 (https)']);
    expect(made.complaints()).toEqual(code === undefined ? [] : [`${code} Ingress shop/web spec.tls[0].secretName`]);
  });

  test('is the default if it does not cover the host', () => {
    const made = world(...pairs, secured([entry('wild', 'a.b.example.com')], 'shop/web', 0, 'a.b.example.com'));
    expect(made.build.hostTls.get('a.b.example.com')?.certificate).toBeUndefined();
    expect(made.complaints()).toEqual(['CertificateHostMismatch Ingress shop/web spec.tls[0].secretName']);
  });

  test('is decided by the first Ingress that has spec.tls', () => {
    const first = secured([], 'shop/a', 1);
    const second = secured([entry('wild', host)], 'shop/b', 2);
    const third = secured([entry('tls', host)], 'shop/c', 3);
    const made = world(...pairs, third, second, first);
    expect(made.build.hostTls.get(host)?.certificate).toBe('shop/wild');
    made.apply(remove(second));
    expect(made.build.hostTls.get(host)?.certificate).toBe('shop/tls');
    made.apply(remove(third));
    expect(made.build.hostTls.get(host)).toEqual({ tls: false, namespaces: ['shop'], diagnostics: [] });
    expect(made.routes(host)).toEqual(['prefix / → shop/web/80']);
  });

  test('never concerns the default server', () => {
    const made = world(...pairs, ingress('shop/web', { rules: [rule('', { '/': 'web:80' })], tls: [entry('tls')] }));
    expect(made.routes('*').at(-1)).toBe('prefix / → shop/web/80');
    expect(made.serverNames()).toEqual({});
    expect(made.complaints()).toEqual(['TlsWithoutHost Ingress shop/web spec.tls']);
  });
});

const rememberedPairs = (made: World) => [...made.state.memory.keys()].filter((key) => key.startsWith('certificate/'));

describe('a host without spec.tls under a wildcard host with it', () => {
  const wild = secured([entry('wild', '*.example.com')], 'shop/wild', 0, '*.example.com');

  test('has its certificate and redirect', () => {
    const made = world(...pairs, wild, secured([]));
    expect(made.build.hostTls.get(host)).toMatchObject({ tls: true, certificate: 'shop/wild', diagnostics: [] });
    expect(made.routes(host)).toEqual(['prefix / → shop/web/80 (https)']);
    made.apply(remove(wild));
    expect(made.routes(host)).toEqual(['prefix / → shop/web/80']);
    expect(made.complaints()).toEqual([]);
  });

  test('has its redirect when there is no certificate; that is reported once', () => {
    const made = world(secured([entry('gone', '*.example.com')], 'shop/wild', 0, '*.example.com'), secured([]));
    expect(made.build.hostTls.get(host)).toMatchObject({ tls: true });
    expect(made.complaints()).toEqual(['SecretNotFound Ingress shop/wild spec.tls[0].secretName']);
  });

  test('has neither in another namespace, and is told', () => {
    const made = world(...pairs, wild, secured([], 'other/web'));
    expect(made.build.hostTls.get(host)).toMatchObject({ tls: false });
    expect(made.serverNames()).toEqual({ '*.example.com': 'shop/wild', [host]: DEFAULT_CERTIFICATE });
    expect(made.complaints()).toContain('CertificateForeign Ingress other/web spec.tls');
  });

  test('keeps to its own spec.tls', () => {
    const made = world(...pairs, wild, secured([entry('tls', host)]));
    expect(made.build.hostTls.get(host)).toMatchObject({ tls: true, certificate: 'shop/tls' });
  });
});

describe('a TLS Secret that breaks', () => {
  const broken = secret('shop/tls', { 'tls.crt': shop.chain, 'tls.key': wildcard.key });
  const chainOf = (made: World) => chainIn(made, 'shop/tls');

  test('keeps its last good pair', () => {
    const made = world(secured([entry('tls', host)]), tlsSecret('shop/tls', shop));
    made.apply(broken);
    expect(chainOf(made)).toBe(shop.chain);
    expect(made.complaints()).toEqual(['SecretInvalid Secret shop/tls data']);
    expect(made.diagnostics()[0]?.message).toContain('last good pair');
    made.apply(secret('shop/tls', {}));
    expect(chainOf(made)).toBe(shop.chain);
    made.apply(tlsSecret('shop/tls', renewed));
    expect(chainOf(made)).toBe(renewed.chain);
    expect(made.complaints()).toEqual([]);
  });

  test('keeps no second copy of a pair that is current', () => {
    // Out of the pool that small buffers share.
    const read = (type: string): Secret => {
      const data = { 'tls.crt': new Uint8Array(Buffer.from(shop.chain)), 'tls.key': Buffer.from(shop.key) };
      return { ...secret('shop/tls', {}), type, data };
    };
    const made = world(secured([entry('tls', host)]), read('kubernetes.io/tls'));
    const sources = () => {
      const remembered = made.state.memory.get('certificate/shop/tls')?.value as Certificate | undefined;
      const served = made.model.certificates.get('shop/tls');
      const chains = [made.state.secrets.get('shop/tls')?.data['tls.crt'], served?.chain, remembered?.chain];
      return chains.map((chain) => chain?.buffer);
    };
    made.apply();
    expect(new Set(sources()).size).toBe(1);
    // Something else of the Secret changes, and its bytes are read anew.
    made.apply(read('Opaque'));
    made.apply();
    expect(made.state.secrets.get('shop/tls')?.type).toBe('Opaque');
    expect(new Set(sources()).size).toBe(1);
  });

  test('gives the default certificate if there never was a good one', () => {
    const made = world(secured([entry('tls', host)]), broken);
    expect(made.build.hostTls.get(host)?.certificate).toBeUndefined();
    expect(made.complaints()).toEqual(['SecretInvalid Secret shop/tls data']);
    expect(made.routes(host)).toEqual(['prefix / → shop/web/80 (https)']);
  });

  test('is forgotten when it is deleted, so that a key can be withdrawn', () => {
    const made = world(secured([entry('tls', host)]), tlsSecret('shop/tls', shop));
    made.apply(remove(broken));
    expect(chainOf(made)).toBeUndefined();
    expect(made.complaints()).toEqual(['SecretNotFound Ingress shop/web spec.tls[0].secretName']);
    made.apply(broken);
    expect(chainOf(made)).toBeUndefined();
    expect(rememberedPairs(made)).toEqual([]);
  });

  test('is forgotten when nobody refers to it any more', () => {
    const made = world(secured([entry('tls', host)]), tlsSecret('shop/tls', shop));
    made.apply();
    expect(rememberedPairs(made)).toEqual(['certificate/shop/tls']);
    made.apply(secured([]));
    made.apply(broken);
    expect(rememberedPairs(made)).toEqual([]);
  });
});

describe('server names', () => {
  test('are those of the certificates in use, not of the hosts', () => {
    const made = world(...pairs, secured([entry('wild', host)]));
    expect(made.serverNames()).toEqual({ '*.example.com': 'shop/wild' });
    expect([...made.model.certificates.keys()].toSorted()).toEqual([DEFAULT_CERTIFICATE, 'shop/wild']);
  });

  test('an exact name goes before a wildcard, as its host asks', () => {
    const made = world(
      ...pairs,
      secured([entry('tls', host)]),
      secured([entry('wild', 'x.example.com')], 'shop/x', 0, 'x.example.com'),
    );
    expect(made.serverNames()).toEqual({ [host]: 'shop/tls', '*.example.com': 'shop/wild' });
  });

  test('a host that wants another certificate than its names lead to is an exception', () => {
    const made = world(
      ...pairs,
      secured([entry('wild', host)]),
      ingress('other/web', { rules: [rule('y.example.com', { '/': 'web:80' })], tls: [entry('tls')] }),
      secured([entry('tls', 'shop.example.com')], 'shop/late', 5),
      secured([entry('gone', 'z.example.com')], 'shop/z', 0, 'z.example.com'),
    );
    expect(made.serverNames()).toEqual({
      '*.example.com': 'shop/wild',
      'y.example.com': DEFAULT_CERTIFICATE,
      'z.example.com': DEFAULT_CERTIFICATE,
    });
  });

  test('of two certificates with the same name the first leads, and the other host is an exception', () => {
    const late = [
      tlsSecret('a/tls', first),
      ingress('a/web', { rules: [rule('a.example.org', { '/': 'web:80' })], tls: [entry('tls', 'a.example.org')] }),
    ];
    const made = world(
      tlsSecret('b/tls', second),
      ingress('b/web', { rules: [rule('b.example.org', { '/': 'web:80' })], tls: [entry('tls', 'b.example.org')] }),
    );
    made.apply(...late);
    expect(made.serverNames()).toEqual({
      'a.example.org': 'a/tls',
      'b.example.org': 'b/tls',
      'unclaimed.example.org': 'a/tls',
    });
    made.apply(remove(tlsSecret('a/tls', first)));
    expect(made.serverNames()).toEqual({
      'a.example.org': DEFAULT_CERTIFICATE,
      'b.example.org': 'b/tls',
      'unclaimed.example.org': 'b/tls',
    });
  });

  test('a host without spec.tls makes no exception within a namespace', () => {
    const made = world(...pairs, secured([entry('wild', host)]), secured([], 'shop/plain', 0, 'plain.example.com'));
    expect(made.serverNames()).toEqual({ '*.example.com': 'shop/wild' });
  });

  test('a host without spec.tls of other namespaces only is an exception', () => {
    const plain = secured([], 'other/plain', 0, 'plain.example.com');
    const made = world(...pairs, secured([entry('wild', host)]), plain);
    expect(made.serverNames()).toEqual({ '*.example.com': 'shop/wild', 'plain.example.com': DEFAULT_CERTIFICATE });
    made.apply(secured([], 'shop/too', 0, 'plain.example.com'));
    expect(made.serverNames()).toEqual({ '*.example.com': 'shop/wild' });
    made.apply(remove(secured([], 'shop/too')));
    made.apply(remove(plain));
    expect(made.serverNames()).toEqual({ '*.example.com': 'shop/wild' });
  });

  test('names that a certificate carries belong to the hosts that serve them', () => {
    const made = world(
      tlsSecret('a/tls', first),
      ingress('a/web', { rules: [rule('a.example.org', { '/': 'web:80' })], tls: [entry('tls', 'a.example.org')] }),
      // Of another namespace: an exact host, and the wildcard host that serves the third name.
      secured([], 'shop/exact', 0, 'b.example.org'),
      secured([], 'shop/wild', 0, '*.example.org'),
    );
    expect(made.serverNames()).toEqual({
      'a.example.org': 'a/tls',
      'b.example.org': DEFAULT_CERTIFICATE,
      'unclaimed.example.org': DEFAULT_CERTIFICATE,
    });
    made.apply(secured([], 'a/wild', 0, '*.example.org'));
    expect(made.serverNames()['unclaimed.example.org']).toBe('a/tls');
  });
});

describe('the default certificate', () => {
  const withFlag = () => new World(generated, { defaultSslCertificate: 'ingress/default' });
  const chainOf = (made: World) => chainIn(made, DEFAULT_CERTIFICATE);

  test('is the generated one', () => {
    expect(chainOf(world())).toBe(generated.chain);
    expect(world().serverNames()).toEqual({});
  });

  test('is that of the flag while it is usable', () => {
    const made = withFlag();
    made.apply();
    expect(chainOf(made)).toBe(generated.chain);
    expect(made.complaints()).toEqual(['SecretNotFound Secret ingress/default']);
    made.apply(tlsSecret('ingress/default', shop));
    expect(chainOf(made)).toBe(shop.chain);
    expect(made.complaints()).toEqual([]);
    expect(made.serverNames()).toEqual({});
    made.apply(secret('ingress/default', {}));
    expect(chainOf(made)).toBe(shop.chain);
    expect(made.complaints()).toEqual(['SecretInvalid Secret ingress/default data']);
    made.apply(remove(secret('ingress/default', {})));
    expect(chainOf(made)).toBe(generated.chain);
  });

  test('that is broken from the start is reported at its Secret', () => {
    const made = withFlag();
    made.apply(secret('ingress/default', { 'tls.crt': 'x', 'tls.key': 'y' }));
    expect(chainOf(made)).toBe(generated.chain);
    expect(made.complaints()).toEqual(['SecretInvalid Secret ingress/default data']);
  });

  test('must be usable when it is generated', () => {
    expect(() => new World({ chain: generated.chain, key: shop.key })).toThrow('does not belong');
  });
});

describe('an Ingress of thousands of hosts and entries', () => {
  const hosts = Array.from({ length: 3_000 }, (_, index) => `h${index}.example.org`);
  const of = (tls: readonly IngressTls[]) =>
    ingress('shop/web', { rules: hosts.map((name) => rule(name, { '/': 'web:80' })), tls });

  test.each([
    ['one entry names them all', [entry('tls', ...hosts)], hosts.length],
    ['no entry names any', hosts.map((_, index) => entry(`s${index}`, 'x.example.org')), 3 * hosts.length],
  ])('takes time and messages in line with their number: %s', (_, tls, messages) => {
    const begin = performance.now();
    const made = world(...pairs, of(tls));
    const told = made.complaints().filter((text) => text.includes(' Ingress shop/web '));
    expect(told).toHaveLength(messages);
    // The square of their number would take a minute.
    expect(performance.now() - begin).toBeLessThan(10_000);
  });

  test('finds the certificate that covers a host behind all others', () => {
    const made = world(
      tlsSecret('shop/all', wildcardOrg),
      of([...hosts.map((_, index) => entry(`s${index}`)), entry('all')]),
    );
    expect(made.build.hostTls.get('h2999.example.org')?.certificate).toBe('shop/all');
  });
});
