import { expect, test } from 'vitest';
import { specialAddress } from './ip-address.ts';

test.each([
  ...['127.0.0.1', '127.9.9.9', '0.0.0.0', '169.254.169.254', '224.0.0.1', '255.255.255.255', '::1', '::', 'fe80::1'],
  ...['ff02::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:0:127.0.0.1', '::127.0.0.1', '64:ff9b::a9fe:a9fe'],
  ...['2002:7f00:1::', '2002:a9fe:a9fe::1'],
])('%s is local', (address) => {
  expect(specialAddress(address)).toBe('local');
});

test.each([
  ...['168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe'],
  ...['fd00:42::42', 'FD00:0EC2:0::0254', '::ffff:168.63.129.16', '64:ff9b::6464:64c8', '2002:a83f:8110::1'],
  '::ffff:0:192.0.0.192',
])('%s is where a cloud keeps secrets', (address) => {
  expect(specialAddress(address)).toBe('metadata');
});

test.each(['10.1.2.3', '192.0.2.7', '2001:db8::1', 'fd00::1', '64:ff9b::192.0.2.7', '2002:c000:207::'])(
  '%s is any other',
  (address) => {
    expect(specialAddress(address)).toBeUndefined();
  },
);
