import { describe, expect, test } from 'vitest';
import { readAnnotations } from './annotation-reading.ts';
import { changedProtections, missingProtections } from './protective.ts';

const prefix = 'nginx.ingress.kubernetes.io';
const missing = (annotations: Record<string, string>) =>
  missingProtections(readAnnotations(annotations, prefix, 'envoy'));

describe('protective annotations that cannot be honoured', () => {
  test.each([
    ['auth-type', 'basic'],
    ['auth-url', 'http://auth'],
    ['auth-tls-secret', 'shop/ca'],
    ['enable-modsecurity', 'true'],
    ['allowlist-source-range', ''],
    ['allowlist-source-range', ' '],
    ['whitelist-source-range', ' '],
    ['denylist-source-range', ''],
    ['configuration-snippet', 'deny all;'],
    ['server-snippet', 'deny all;'],
    ['stream-snippet', 'deny all;'],
  ])('%s closes', (name, value) => {
    expect(missing({ [`${prefix}/${name}`]: value }).map(({ key }) => key)).toEqual([`${prefix}/${name}`]);
  });

  // Of each what it does nothing without, and a value of that.
  const leaders: Record<string, Record<string, string>> = {
    'auth-type': { 'auth-secret': 'users', 'auth-secret-type': 'auth-map', 'auth-realm': 'Staff', satisfy: 'any' },
    'auth-url': {
      'auth-method': 'POST',
      'auth-signin': 'http://auth/start',
      'auth-signin-redirect-param': 'rd',
      'auth-request-redirect': 'http://a.example.com/',
      'auth-response-headers': 'X-User',
      'auth-snippet': 'deny all;',
      'auth-proxy-set-headers': 'headers',
      'auth-cache-key': '$remote_user',
      'auth-cache-duration': '200 5m',
      'auth-always-set-cookie': 'true',
      'auth-keepalive': '0',
      'auth-keepalive-requests': '5',
      'auth-keepalive-timeout': '5',
      'auth-keepalive-share-vars': 'true',
      satisfy: 'all',
    },
    'auth-tls-secret': {
      'auth-tls-verify-client': 'on',
      'auth-tls-verify-depth': '2',
      'auth-tls-error-page': 'http://a.example.com/',
      'auth-tls-pass-certificate-to-upstream': 'true',
      'auth-tls-match-cn': 'CN=client',
    },
    'enable-modsecurity': {
      'enable-owasp-core-rules': 'true',
      'modsecurity-snippet': 'SecRuleEngine On',
      'modsecurity-transaction-id': '$request_id',
    },
  };
  const leading = (leader: string) =>
    ({ 'auth-type': 'digest', 'auth-tls-secret': 'shop/ca', 'enable-modsecurity': 'true' })[leader] ?? 'http://auth';
  const cases = Object.entries(leaders).flatMap(([leader, details]) =>
    Object.entries(details).map(([name, value]) => [name, value, leader] as const),
  );
  test.each(cases)('%s: %s closes beside %s alone', (name, value, leader) => {
    const one = { [`${prefix}/${name}`]: value };
    expect(missing(one)).toEqual([]);
    expect(missing({ ...one, [`${prefix}/${leader}`]: '' })).toEqual([]);
    const both = missing({ ...one, [`${prefix}/${leader}`]: leading(leader) });
    expect(both.map(({ key }) => key).toSorted()).toEqual([`${prefix}/${leader}`, `${prefix}/${name}`].toSorted());
  });

  test('what cannot be read closes with what it belongs to', () => {
    expect(missing({ [`${prefix}/auth-type`]: 'nonsense', [`${prefix}/auth-realm`]: 'Staff' })).toHaveLength(2);
    expect(missing({ [`${prefix}/auth-response-headers`]: '{}' })).toHaveLength(1);
  });

  test.each([
    ['another annotation', `${prefix}/proxy-read-timeout`, '5'],
    ['another prefix', 'example.com/auth-url', 'http://auth'],
    ['no prefix', 'auth-url', 'http://auth'],
    ['an empty value', `${prefix}/auth-url`, ''],
    ['white space', `${prefix}/auth-url`, ' \n '],
    ['a firewall that is off', `${prefix}/enable-modsecurity`, 'false'],
    ['nothing under an older name', `${prefix}/whitelist-source-range`, ''],
    ['what the ConfigMap alone asks for', `${prefix}/enable-global-auth`, 'false'],
    ['rules that are off', `${prefix}/enable-owasp-core-rules`, ' F '],
  ])('%s does not', (_, key, value) => {
    expect(missing({ [key]: value })).toEqual([]);
  });

  test('rules without the firewall do not', () => {
    const off = { [`${prefix}/enable-modsecurity`]: 'false', [`${prefix}/enable-owasp-core-rules`]: 'true' };
    expect(missing(off)).toEqual([]);
  });

  test('an empty list of addresses does not close beside its older name', () => {
    const lists = { [`${prefix}/allowlist-source-range`]: '', [`${prefix}/whitelist-source-range`]: '10.0.0.0/8' };
    expect(missing(lists)).toEqual([]);
  });

  test('a switch that is no boolean counts as on', () => {
    expect(missing({ [`${prefix}/enable-modsecurity`]: 'no' })).toHaveLength(1);
  });

  test('client certificates and server snippets concern the whole host', () => {
    const all = missing({ [`${prefix}/auth-tls-secret`]: 'a/b', [`${prefix}/auth-url`]: 'http://auth' });
    expect(all.map(({ hostWide }) => hostWide)).toEqual([true, false]);
  });

  test('what a later version adds or changes is told apart from what it keeps', () => {
    const before = { [`${prefix}/auth-url`]: 'http://a', [`${prefix}/auth-method`]: 'GET' };
    const after = { ...before, [`${prefix}/auth-url`]: 'http://b', [`${prefix}/satisfy`]: 'any' };
    const changed = changedProtections(before, readAnnotations(after, prefix, 'envoy')).map(({ key }) => key);
    expect(changed).toEqual([`${prefix}/auth-url`, `${prefix}/satisfy`]);
  });
});
