import { expect, test } from 'vitest';
import { credentialPaths, parseClients } from './xds-tls-arguments.ts';

test('clients have a name, and namespaces if they are limited', () => {
  expect(parseClients(['edge', 'shop.example=shop,shop-2', '*=public', 'spiffe://mesh/a?b=c=blog', 'x:=a'])).toEqual([
    { name: 'edge' },
    { name: 'shop.example', namespaces: ['shop', 'shop-2'] },
    { name: '*', namespaces: ['public'] },
    { name: 'spiffe://mesh/a?b=c', namespaces: ['blog'] },
    { name: 'x:', namespaces: ['a'] },
  ]);
});

test.each([
  [['']],
  [['=shop']],
  [['a b']],
  [['edge=']],
  [['edge=shop,']],
  [['edge=Shop']],
  [['edge=*']],
  [['edge', 'edge=shop']],
])('%j is refused: nobody may get more than was meant', (values) => {
  expect(() => parseClients(values)).toThrow('--xds-client');
});

test('the three files go together', () => {
  expect(credentialPaths({})).toBeUndefined();
  const all = { xdsCertificate: 'c', xdsKey: 'k', xdsCa: 'a' };
  expect(credentialPaths(all)).toEqual({ certificate: 'c', key: 'k', ca: 'a' });
  for (const [name, flag] of Object.entries({
    xdsCertificate: '--xds-certificate',
    xdsKey: '--xds-key',
    xdsCa: '--xds-ca',
  })) {
    expect(() => credentialPaths({ ...all, [name]: '' })).toThrow(`${flag} missing`);
  }
  expect(() => credentialPaths({ xdsCa: 'a' })).toThrow('--xds-certificate and --xds-key missing');
});
