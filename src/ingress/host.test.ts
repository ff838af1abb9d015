import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseHost, wildcardOf } from './host.ts';

describe('hosts of rules', () => {
  test.each([
    [undefined, '*'],
    ['', '*'],
    ['shop.example.com', 'shop.example.com'],
    ['Shop.Example.COM', 'shop.example.com'],
    ['shop.example.com.', 'shop.example.com'],
    ['localhost', 'localhost'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['*.example.com', '*.example.com'],
    ['*.Example.com.', '*.example.com'],
    ['*.com', '*.com'],
  ])('%j is served as %j', (text, host) => {
    expect(parseHost(text)).toEqual({ host });
  });

  test.each([
    '*',
    'shop.example.com:8080',
    'shop example.com',
    'shop\n.example.com',
    '10.0.0.1',
    '[::1]',
    '::1',
    'under_score.example.com',
    '-shop.example.com',
    'shop..example.com',
    '.example.com',
    'a*.example.com',
    '*.*.example.com',
    'bücher.example',
    `${'a'.repeat(250)}.com`,
    `*.${'a'.repeat(248)}.com`,
    '*.',
    '*.10.0.0.1',
    '*example.com',
    'shop.*.com',
    '*.example.com:8080',
  ])('%j is refused', (text) => {
    expect(parseHost(text)).toMatchObject({ reason: expect.any(String) });
  });

  test('what is accepted is a lower-case name that stays as it is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.domain()), (text) => {
        const parsed = parseHost(text);
        if (!('host' in parsed) || parsed.host === '*') return;
        expect(parsed.host).toMatch(/^(?:\*\.)?[a-z0-9.-]+$/);
        expect(parseHost(parsed.host)).toEqual(parsed);
      }),
    );
  });

  test('the wildcard of a host stands for its first label', () => {
    expect(wildcardOf('shop.example.com')).toBe('*.example.com');
    expect(wildcardOf('localhost')).toBeUndefined();
    expect(wildcardOf('*.example.com')).toBeUndefined();
  });
});
