import { describe, expect, test } from 'vitest';
import { families } from '../../test/support/host-families.ts';
import { createRandom, fullest, randomSet, worstFullest } from '../../test/support/parity-hash-search.ts';
import { createParityHash, hostKey, KEYS, parityHashExpression, SETS } from './parity-hash.ts';

describe('the hash of a host', () => {
  test('does not look at the port and at a trailing dot', () => {
    const key = hostKey('shop.example.com');
    expect(hostKey('shop.example.com:8080')).toBe(key);
    expect(hostKey('shop.example.com.')).toBe(key);
    expect(hostKey('shop.example.org')).not.toBe(key);
  });

  test('is one parity for each set: even bits look at even positions, odd bits at odd ones', () => {
    const hash = createParityHash(['ab', 'ab']);
    expect(hash('a')).toBe(1);
    expect(hash('ca')).toBe(2);
    expect(hash('aa')).toBe(3);
    expect(hash('aca')).toBe(0);
  });

  test('stays what it is: other keys would send every host anew', () => {
    expect(['shop.example.com', 'a', 'www.example.org', 'h17.example.com'].map(hostKey)).toMatchInlineSnapshot(`
      [
        83,
        0,
        76,
        177,
      ]
    `);
  });

  test('holds no character that would end the formatter', () => {
    expect(parityHashExpression()).not.toContain('%');
  });
});

describe('the balance', () => {
  test.each([...families(5_000)])('of %s: no key holds more than five times its part', (_family, hosts) => {
    expect(hosts.length).toBeGreaterThan(1_000);
    expect(fullest(SETS, hosts)).toBeLessThan(5);
    expect(new Set(hosts.map(hostKey)).size).toBeGreaterThan(0.8 * KEYS);
  });

  test('is better than that of sets taken at random', () => {
    const random = createRandom(1);
    const others = Array.from({ length: 5 }, () => Array.from({ length: 8 }, () => randomSet(random)));
    for (const sets of others) expect(worstFullest(SETS, 2_000)).toBeLessThan(worstFullest(sets, 2_000));
  });
});
