import { describe, expect, test } from 'vitest';
import { parseListenAddress, parseXdsAddress, XdsAddressError } from './address.ts';

describe('an address to connect to', () => {
  test.each([
    ['unix:/run/xds.sock', { kind: 'unix', path: '/run/xds.sock' }],
    ['unix:relative:with:colons', { kind: 'unix', path: 'relative:with:colons' }],
    ['xds.example.com:18000', { kind: 'tcp', host: 'xds.example.com', port: 18_000 }],
    ['10.0.0.1:0', { kind: 'tcp', host: '10.0.0.1', port: 0 }],
    ['[2001:db8::1]:65535', { kind: 'tcp', host: '[2001:db8::1]', port: 65_535 }],
  ])('%s', (text, address) => {
    expect(parseXdsAddress(text)).toEqual(address);
  });

  test.each(['', '18000', ':18000', 'host:', 'host:http', '127.0.0.1:65536', '::1:18000', '[]:1', 'unix:', 'host:-1'])(
    'refuses %j',
    (text) => {
      expect(() => parseXdsAddress(text)).toThrow(XdsAddressError);
    },
  );
});

describe('an address to listen on', () => {
  test.each(['unix:/run/xds.sock', '127.0.0.1:18000', '127.8.9.1:18000', '[::1]:18000', 'localhost:0'])(
    '%s',
    (text) => {
      expect(parseListenAddress(text)).toEqual(parseXdsAddress(text));
    },
  );

  test.each(['0.0.0.0:18000', '[::]:18000', '192.0.2.1:1', 'localhost.example.com:1', '127.example.com:1'])(
    'refuses %s',
    (text) => {
      expect(() => parseListenAddress(text)).toThrow('not on loopback');
    },
  );
});
