import { describe, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import { parseBackendSecret } from './backend-secret.ts';
import { ciphersFor } from './declaration/ciphers.ts';
import { referencesOf } from './references.ts';
import { endpointSlice, ingress, rule, secret, service, World } from './testing.ts';

const PREFIX = 'nginx.ingress.kubernetes.io';
const pair = await makePair(['pod.example.com']);

describe('a Secret for TLS to backends', () => {
  const partsOf = (data: Readonly<Record<string, string>>) => {
    const parsed = parseBackendSecret('shop/backend', secret('shop/backend', data));
    if ('reason' in parsed) return parsed.reason;
    const { pair: shown, authorities } = parsed.secret;
    return { pair: shown !== undefined, authorities: authorities !== undefined };
  };
  const both = { 'tls.crt': pair.chain, 'tls.key': pair.key };

  test('holds a certificate, authorities, or both', () => {
    expect(partsOf(both)).toEqual({ pair: true, authorities: false });
    expect(partsOf({ 'ca.crt': pair.chain })).toEqual({ pair: false, authorities: true });
    expect(partsOf({ ...both, 'ca.crt': `text in front\n${pair.chain}${pair.chain}` })).toEqual({
      pair: true,
      authorities: true,
    });
  });

  test.each<[string, Readonly<Record<string, string>>, string]>([
    ['nothing', {}, 'has neither tls.crt with tls.key nor ca.crt'],
    ['empty values', { 'tls.crt': '', 'ca.crt': '' }, 'has neither tls.crt with tls.key nor ca.crt'],
    ['half a pair', { 'tls.crt': pair.chain, 'ca.crt': pair.chain }, 'has no tls.key'],
    ['text', { ...both, 'ca.crt': 'none' }, 'holds no certificate in ca.crt'],
    [
      'a torn certificate',
      { 'ca.crt': `${pair.chain}${pair.chain.slice(0, 99)}` },
      'holds a broken certificate in ca.crt',
    ],
  ])('is not usable with %s', (_, data, reason) => expect(partsOf(data)).toBe(reason));
});

describe('a list of ciphers', () => {
  test.each<[string, unknown]>([
    ['ECDHE-RSA-AES128-GCM-SHA256:AES128-SHA', { ciphers: ['ECDHE-RSA-AES128-GCM-SHA256', 'AES128-SHA'], dropped: [] }],
    ['DHE-RSA-AES128-SHA AES128-SHA', { ciphers: ['AES128-SHA'], dropped: ['DHE-RSA-AES128-SHA'] }],
    ['AES128-SHA:!RC4:TLS_AES_128_GCM_SHA256', { ciphers: ['AES128-SHA'], dropped: [] }],
    ['HIGH:!aNULL', { ciphers: [], dropped: [] }],
    ['!aNULL', undefined],
    ['RC4-MD5', undefined],
  ])('%s', (list, expected) => {
    const decoded = ciphersFor('envoy', list.split(/[ :]/));
    expect('value' in decoded ? decoded.value : undefined).toEqual(expected);
  });

  test('nginx has more of them', () => {
    expect(ciphersFor('nginx', ['DHE-RSA-AES128-SHA'])).toEqual({
      value: { ciphers: ['DHE-RSA-AES128-SHA'], dropped: [] },
    });
  });
});

describe('in the model', () => {
  const web = (name: string, annotations: Readonly<Record<string, string>>) =>
    ingress(`shop/${name}`, {
      annotations: Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`${PREFIX}/${key}`, value])),
      rules: [rule(`${name}.example.com`, { '/': 'web:443' })],
    });
  const verified = { 'backend-protocol': 'HTTPS', 'proxy-ssl-secret': 'shop/backend', 'proxy-ssl-verify': 'on' };
  const objects = [service('shop/web', [{ port: 443 }]), endpointSlice('shop/web-a', 'web', ['10.0.0.1'])];
  const backend = (authorities: string) => secret('shop/backend', { 'ca.crt': authorities });

  test('a Secret is there while a cluster names it, and a change of it moves nothing else', async () => {
    const world = new World(pair);
    world.apply(...objects, web('one', verified), backend(pair.chain));
    expect([...world.model.backendSecrets.keys()]).toEqual(['shop/backend']);
    const { chain } = await makePair(['other.example.com']);
    const runs = world.runsOf(() => world.apply(backend(chain)));
    expect(runs).toMatchObject({ 'served-ingress': 1, 'backend-secret': 1 });
    expect(Object.keys(runs)).not.toContain('virtual-host');
    world.apply(web('one', {}));
    expect([...world.model.backendSecrets.keys()]).toEqual([]);
  });

  test('a broken Secret closes the paths of its Ingresses alone', () => {
    const world = new World(pair);
    world.apply(...objects, web('one', verified), web('two', { 'backend-protocol': 'HTTPS' }), backend('none'));
    expect(world.routes('one.example.com')).toEqual(['prefix / → 503']);
    expect(world.routes('two.example.com')[0]).toMatch(/→ shop\/web\/443~/);
    expect(world.complaints()).toEqual([
      `AnnotationDenied Ingress shop/one metadata.annotations["${PREFIX}/proxy-ssl-secret"]`,
    ]);
  });

  test('sources read the Secret that an Ingress names', () => {
    expect(referencesOf(web('one', verified), PREFIX)).toEqual([
      { kind: 'Secret', namespace: 'shop', name: 'backend' },
    ]);
  });
});
