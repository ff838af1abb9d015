import { describe, expect, test } from 'vitest';
import { externalNameReader, externalPort, parseExternalName } from './external-name.ts';
import { externalName } from './testing.ts';

describe('external names', () => {
  test.each([
    ['api.example.com', 'api.example.com'],
    ['API.example.com.', 'api.example.com.'],
    ['db', 'db'],
    ['192.0.2.7', '192.0.2.7'],
    ['10.1.2.3', '10.1.2.3'],
    ['2001:DB8::0:1', '2001:db8::1'],
    ['64:ff9b::192.0.2.7', '64:ff9b::c000:207'],
  ])('%s is resolved as %s', (text, hostname) => {
    expect(parseExternalName(text)).toEqual({ hostname });
  });

  test.each([
    undefined,
    '',
    '.',
    'localhost',
    'LocalHost.',
    'foo.localhost',
    'localhost.localdomain',
    'localhost4',
    'LOCALHOST6.',
    'localhost.localdomain6',
    'localhost6.localdomain6',
    'ip6-loopback',
    '127.0.0.1',
    '127.1',
    '127.0.0.1.',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0.0.0.0',
    '169.254.169.254',
    '::1',
    '::',
    'fe80::1',
    'fe80::1%eth0',
    '::ffff:127.0.0.1',
    '::127.0.0.1',
    '64:ff9b::169.254.169.254',
    '2002:7f00:1::',
    'fd00:ec2::254',
    '100.100.100.200',
    'metadata.google.internal',
    'Metadata.',
    'example.127',
    'not a name',
    'http://example.com',
    'example.com:80',
    'under_score.example.com',
  ])('%j is refused', (text) => {
    expect(parseExternalName(text)).toHaveProperty('reason');
  });
});

describe('ports behind an external name', () => {
  test.each([
    ['no ports at all', [], '443', 443],
    ['another port', [{ port: 80 }], '443', 443],
    ['the port itself', [{ port: 80 }], '80', 80],
    ['its target port', [{ port: 80, targetPort: 8080 }], '80', 8080],
    ['a named target port, which nobody can look up', [{ port: 80, targetPort: 'http' }], '80', 80],
    ['a name without a port', [], 'http', undefined],
    ['no port of this world', [], '70000', undefined],
  ])('%s', (_, ports, port, expected) => {
    expect(externalPort(externalName('shop/api', 'api.example.com', ports), port)).toBe(expected);
  });
});

test('with --disable-svc-external-name no name is resolved', () => {
  expect(externalNameReader({ disabled: true })('api.example.com')).toEqual({
    reason: 'is not resolved: --disable-svc-external-name',
  });
  expect(externalNameReader({ disabled: false })('api.example.com')).toEqual({ hostname: 'api.example.com' });
});
