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
    ['auth-tls-match-cn', 'CN=client'],
    ['satisfy', 'any'],
    ['enable-modsecurity', 'true'],
    ['modsecurity-snippet', 'SecRuleEngine On'],
    ['configuration-snippet', 'deny all;'],
    ['server-snippet', 'deny all;'],
    ['stream-snippet', 'deny all;'],
    ['auth-snippet', 'deny all;'],
    ['enable-global-auth', 'true'],
  ])('%s closes', (name, value) => {
    expect(missing({ [`${prefix}/${name}`]: value }).map(({ key }) => key)).toEqual([`${prefix}/${name}`]);
  });

  test.each([
    ['another annotation', `${prefix}/proxy-read-timeout`, '5'],
    ['another prefix', 'example.com/auth-url', 'http://auth'],
    ['no prefix', 'auth-url', 'http://auth'],
    ['an empty value', `${prefix}/auth-url`, ''],
    ['white space', `${prefix}/auth-url`, ' \n '],
    ['a firewall that is off', `${prefix}/enable-modsecurity`, 'false'],
    ['rules that are off', `${prefix}/enable-owasp-core-rules`, ' F '],
  ])('%s does not', (_, key, value) => {
    expect(missing({ [key]: value })).toEqual([]);
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
