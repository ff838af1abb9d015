import { describe, expect, test } from 'vitest';
import { bindingOf } from './listener.ts';

describe('addresses of ports', () => {
  test('all that the machine has, without IPv6 where that is not wanted or not there', () => {
    expect(bindingOf({ ipv6: true }, { ipv6: true }).addresses).toEqual(['0.0.0.0', '::']);
    expect(bindingOf({ ipv6: false }, { ipv6: true }).addresses).toEqual(['0.0.0.0']);
    expect(bindingOf({ ipv6: true }, { ipv6: false }).addresses).toEqual(['0.0.0.0']);
  });

  test('those that are asked for, of which one is always left', () => {
    const addresses = ['192.0.2.1', '2001:db8::1'];
    expect(bindingOf({ addresses, ipv6: true }, { ipv6: true }).addresses).toEqual(addresses);
    expect(bindingOf({ addresses: ['2001:db8::1'], ipv6: true }, { ipv6: false }).addresses).toEqual(['0.0.0.0']);
  });
});
