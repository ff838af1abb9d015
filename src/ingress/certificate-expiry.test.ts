import { expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import { TODAY } from '../cluster/cluster-state.ts';
import { ingress, rule, service, tlsSecret, World } from './testing.ts';

const generated = await makePair(['ingress.local']);
const pair = await makePair(['shop.example.com']);
const world = new World(generated);
world.apply(
  service('shop/web'),
  tlsSecret('shop/tls', pair),
  ingress('shop/web', {
    rules: [rule('shop.example.com', { '/': 'web:80' })],
    tls: [{ hosts: ['shop.example.com'], secretName: 'tls' }],
  }),
);
const DAY_MS = 24 * 60 * 60 * 1000;
const lastDay = Math.floor((world.model.certificates.get('shop/tls')?.notAfter ?? 0) / DAY_MS);
const told = () => world.complaints().filter((complaint) => complaint.startsWith('Certificate'));

test('nothing is said where nobody tells the day', () => {
  expect(told()).toEqual([]);
});

test.each([
  [lastDay - 10, []],
  [lastDay - 9, ['CertificateExpiring Secret shop/tls data']],
  [lastDay, ['CertificateExpiring Secret shop/tls data']],
  [lastDay + 1, ['CertificateExpired Secret shop/tls data']],
])('on day %i', (day, expected) => {
  world.state.today.set(TODAY, day);
  world.apply();
  expect(told()).toEqual(expected);
});

test('a new day changes nothing that is served', () => {
  const runs = world.runsOf(() => {
    world.state.today.set(TODAY, lastDay + 2);
    world.apply();
  });
  expect(runs).toEqual({ 'certificate-expiry': 1 });
  expect(world.model.certificates.get('shop/tls')).toBeDefined();
});
