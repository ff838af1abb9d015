import { createPrivateKey, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import * as odd from '../../test/support/odd-certificates.ts';
import { makePair, type Pair } from '../../test/support/pki.ts';
import { findUnfitness } from './certificate-fitness.ts';

const unfitness = ({ chain, key }: Pair) => findUnfitness(new X509Certificate(chain), createPrivateKey(key));

test.each([
  ['authority', odd.authority, /key usage does not allow digital signatures/],
  ['mustStaple', odd.mustStaple, /demands OCSP stapling/],
  ['explicitCurve', odd.explicitCurve, /spells out its curve/],
  ['largeExponent', odd.largeExponent, /public exponent 8589934593/],
  ['threePrimes', odd.threePrimes, /more than two primes/],
  ['hybridKey', odd.hybridKey, /writes its public key in an unusual way/],
  ['nameless', odd.nameless, /without a name/],
])('%s: Envoy would refuse it', (_, pair, reason) => {
  expect(unfitness(pair)).toMatch(reason);
});

test('others are served', async () => {
  expect(unfitness(odd.clientOnly)).toBeUndefined();
  expect(unfitness(await makePair(['shop.example.com']))).toBeUndefined();
});
