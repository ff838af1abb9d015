import { describe, expect, test } from 'vitest';
import { parseStreamEntry } from './stream-entry.ts';

const RESERVED = new Set([80, 10254]);

function parse(key: string, value: string, protocol: 'tcp' | 'udp' = 'tcp') {
  return parseStreamEntry(protocol, key, value, RESERVED);
}

const db = { port: 9000, namespace: 'shop', service: 'db', servicePort: '5432', ignored: [] };

describe('an entry', () => {
  test.each<[string, boolean, boolean]>([
    ['shop/db:5432', false, false],
    [' shop/db:5432\n', false, false],
    ['shop/db:5432:PROXY', true, false],
    ['shop/db:5432::PROXY', false, true],
    ['shop/db:5432:PROXY:PROXY', true, true],
    ['shop/db:5432:proxy:Proxy', true, true],
    ['shop/db:5432:', false, false],
  ])('%j', (value, fromClient, toService) => {
    expect(parse('9000', value)).toEqual({ ...db, proxyProtocol: { fromClient, toService } });
  });

  test('names a port of the Service', () => {
    expect(parse('9000', 'shop/db:postgres')).toMatchObject({ servicePort: 'postgres' });
  });

  test.each<['tcp' | 'udp', string, string[]]>([
    ['tcp', 'shop/db:5432:PROXY:PROXY:PROXY', ['PROXY']],
    ['tcp', 'shop/db:5432:v2', ['v2']],
    ['udp', 'shop/db:5432:PROXY', ['PROXY']],
    ['udp', 'shop/db:5432::PROXY', ['PROXY']],
  ])('%s %j: what means nothing is told', (protocol, value, ignored) => {
    expect(parse('9000', value, protocol)).toMatchObject({ ignored });
  });

  test('of UDP has no PROXY protocol', () => {
    const proxyProtocol = { fromClient: false, toService: false };
    expect(parse('9000', 'shop/db:5432:PROXY:PROXY', 'udp')).toMatchObject({ proxyProtocol });
  });
});

describe('is refused', () => {
  test.each(['0', '65536', '-1', '+9000', '09000', '9000 ', '9e3', 'http', ''])('with the port %j', (key) => {
    expect(parse(key, 'shop/db:5432')).toEqual({ reason: `${JSON.stringify(key)} is no port from 1 to 65535` });
  });

  test.each(['80', '10254', '8181', '10245', '10246', '10247'])(
    'with the port %s, which has another meaning',
    (key) => {
      expect(parse(key, 'shop/db:5432')).toEqual({ reason: `port ${key} is used by the controller itself` });
    },
  );

  test.each([
    '',
    'db:5432',
    'shop/db',
    'shop/db:',
    '/db:5432',
    'shop/:5432',
    'shop/db/x:5432',
    'Shop/db:5432',
    'shop/d b:5432',
    'shop/db:54 32',
    'shop/db:54/32',
  ])('%j', (value) => {
    expect(parse('9000', value)).toEqual({ reason: expect.stringMatching(/^"[^"]*" is not NAMESPACE\/SERVICE:PORT/) });
  });
});
