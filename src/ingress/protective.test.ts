import { describe, expect, test } from 'vitest';
import { protectiveAnnotations, protectiveKeys } from './protective.ts';

const prefix = 'nginx.ingress.kubernetes.io';
const keysOf = (annotations: Record<string, string>) =>
  protectiveAnnotations(annotations, prefix).map(({ key }) => key);

describe('protective annotations', () => {
  test.each([
    'auth-type',
    'auth-url',
    'auth-tls-secret',
    'auth-tls-match-cn',
    'allowlist-source-range',
    'whitelist-source-range',
    'denylist-source-range',
    'satisfy',
    'enable-modsecurity',
    'modsecurity-snippet',
    'configuration-snippet',
    'server-snippet',
    'stream-snippet',
    'auth-snippet',
    'enable-global-auth',
  ])('%s protects', (name) => {
    expect(keysOf({ [`${prefix}/${name}`]: 'true' })).toEqual([`${prefix}/${name}`]);
  });

  test.each([
    ['another annotation', `${prefix}/proxy-body-size`, '1m'],
    ['another prefix', 'example.com/auth-url', 'http://auth'],
    ['no prefix', 'auth-url', 'http://auth'],
    ['an empty value', `${prefix}/auth-url`, ''],
    ['white space', `${prefix}/auth-url`, ' \n '],
    ['a firewall that is off', `${prefix}/enable-modsecurity`, 'false'],
    ['rules that are off', `${prefix}/enable-owasp-core-rules`, ' F '],
  ])('%s does not', (_, key, value) => {
    expect(keysOf({ [key]: value })).toEqual([]);
  });

  test('a switch that is no boolean counts as on', () => {
    expect(keysOf({ [`${prefix}/enable-modsecurity`]: 'no' })).toHaveLength(1);
  });

  test('client certificates and server snippets concern the whole host', () => {
    const all = protectiveAnnotations(
      { [`${prefix}/auth-tls-secret`]: 'a/b', [`${prefix}/auth-url`]: 'http://auth' },
      prefix,
    );
    expect(all.map(({ hostWide }) => hostWide)).toEqual([true, false]);
  });
});

describe('protective keys of the ConfigMap', () => {
  test.each([
    [{ 'global-auth-url': 'http://auth' }, ['global-auth-url']],
    [
      { 'block-cidrs': '10.0.0.0/8', 'whitelist-source-range': '10.0.0.0/8' },
      ['whitelist-source-range', 'block-cidrs'],
    ],
    [{ 'enable-modsecurity': 'true' }, ['enable-modsecurity']],
    [{ 'enable-modsecurity': 'false', 'global-auth-url': '', 'use-gzip': 'true' }, []],
  ])('%j', (data, keys) => {
    expect(protectiveKeys(data)).toEqual(keys);
  });
});
