import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findEnvoy } from './binary.ts';
import { encode, type MessageName, toJson } from './codec.ts';
import { schema } from './schema.ts';
import { findViolations } from './schema-rules.ts';
import { compileTests } from './value-rules.ts';

const virtualHost = 'envoy.config.route.v3.VirtualHost';
const route = 'envoy.config.route.v3.Route';
const cluster = 'envoy.config.cluster.v3.Cluster';
const prefix = 'type.googleapis.com/';
const bufferUrl = `${prefix}envoy.extensions.filters.http.buffer.v3.Buffer`;
const match = { prefix: '/' };

const headers = (count: number) => Array.from({ length: count }, (_, i) => ({ header: { key: `x-${i}`, value: 'v' } }));
const forward = (fields: object) => ({ match, route: { cluster: 'c', ...fields } });

test('every rule in the schema is understood', () => {
  const names = [...schema().types.keys()].filter((name) => /^(envoy|xds)\./.test(name));
  expect(names.length).toBeGreaterThan(500);
  for (const name of names) expect(() => findViolations(name, {})).not.toThrow();
});

describe('rules', () => {
  test.each<[string, string, unknown, string[]]>([
    ['nothing broken', route, forward({ timeout: { seconds: 5 } }), []],
    [
      'absent where the default breaks a rule',
      virtualHost,
      {},
      ['name string.min_len: 1', 'domains repeated.min_items: 1'],
    ],
    ['required', route, { route: { cluster: 'c' } }, ['match required']],
    ['a required oneof', route, { match: {}, route: { cluster: 'c' } }, ['match.path_specifier required']],
    ['an empty member of a oneof', route, { match, route: { cluster: '' } }, ['route.cluster string.min_len: 1']],
    ['a wrapper, when it is there', bufferUrl, { max_request_bytes: { value: 0 } }, ['max_request_bytes uint32.gt: 0']],
    ['a wrapper that must be there', bufferUrl, {}, ['max_request_bytes required']],
    [
      'items',
      virtualHost,
      { name: 'a', domains: ['a', 'b\n'] },
      ['domains[1] string.well_known_regex: "HTTP_HEADER_VALUE"'],
    ],
    [
      'max_items',
      route,
      { ...forward({}), request_headers_to_add: headers(1001) },
      ['request_headers_to_add repeated.max_items: 1000'],
    ],
    ['an enum', route, { match, redirect: { response_code: 9 } }, ['redirect.response_code enum.defined_only']],
    ['numbers', route, { match, direct_response: { status: 99 } }, ['direct_response.status uint32.gte: 200']],
    ['durations', cluster, { name: 'a', connect_timeout: {} }, ['connect_timeout duration.gt: 0s']],
    [
      'inside a map and an Any',
      route,
      { ...forward({}), typed_per_filter_config: { b: { '@type': bufferUrl, max_request_bytes: { value: 0 } } } },
      ['typed_per_filter_config["b"].max_request_bytes uint32.gt: 0'],
    ],
    [
      'not inside an encoded Any',
      route,
      { ...forward({}), typed_per_filter_config: { b: { type_url: bufferUrl, value: [] } } },
      [],
    ],
    [
      'in a message that contains its own kind',
      'envoy.config.rbac.v3.Permission',
      { and_rules: { rules: [{ not_rule: { or_rules: { rules: [] } } }] } },
      ['and_rules.rules[0].not_rule.or_rules.rules repeated.min_items: 1'],
    ],
  ])('%s', (_title, name, message, broken) => {
    const found = findViolations(name.replace(prefix, ''), message);
    expect(found.map(({ path, rule }) => `${path} ${rule}`)).toEqual(broken);
  });
});

describe('values', () => {
  const accepts = (kind: string, rules: object, value: unknown) =>
    compileTests(kind, rules as never).every((rule) => rule.accepts(value));

  test.each<[string, object, unknown[], unknown[]]>([
    ['string', { min_len: 2, max_len: 3 }, ['ab', '😀😀😀'], ['a', '😀', 'abcd']],
    ['string', { max_bytes: 4 }, ['😀', 'abcd'], ['😀a']],
    ['string', { pattern: '^[a-z]+$' }, ['abc'], ['', 'aB']],
    ['string', { prefix: '%', suffix: '%' }, ['%a%', '%'], ['a%', '%a']],
    ['string', { contains: 'x', not_contains: 'y' }, ['axb'], ['a', 'xy']],
    ['string', { in: ['a', ''] }, ['a', ''], ['b']],
    ['string', { not_in: ['a'] }, ['b'], ['a']],
    ['string', { min_len: 2, ignore_empty: true }, ['', 'ab'], ['a']],
    ['string', { well_known_regex: 'HTTP_HEADER_NAME' }, ['x-a', ':path'], ['', 'a b', 'ä', 'a:b']],
    ['string', { well_known_regex: 'HTTP_HEADER_VALUE' }, ['', 'a\tb', 'ä'], ['a\nb', '\x7f', '\x01']],
    ['string', { well_known_regex: 'HTTP_HEADER_NAME', strict: false }, ['', 'a b', '\x01'], ['a\nb', 'a\rb', 'a\0b']],
    ['uint32', { gt: 0, lte: 5 }, [1, 5], [0, 6]],
    ['uint32', { gt: 5, lt: 2 }, [6, 1], [2, 3, 5]], // outside of 2 … 5
    ['int32', { const: 5 }, [5], [4]],
    ['double', { gte: 0, lte: 1 }, [0, 1], [-0.1, 1.1]],
    ['enum', { not_in: [2] }, [1], [2]],
    ['bool', { const: true }, [true], [false]],
    ['bytes', { min_len: 1, max_len: 2 }, [Uint8Array.of(1)], [new Uint8Array(), new Uint8Array(3)]],
    [
      'duration',
      { gte: { nanos: 1_000_000 }, lt: { seconds: 2 } },
      [{ nanos: 1_000_000 }],
      [{}, { seconds: 2 }, { seconds: -1 }],
    ],
    ['repeated', { min_items: 1, max_items: 2, unique: true }, [['a'], ['a', 'b']], [[], ['a', 'a'], ['a', 'b', 'c']]],
    ['map', { min_pairs: 1 }, [{ a: 1 }], [{}]],
    ['any', { in: ['t/a'] }, [{ '@type': 't/a' }], [{ '@type': 't/b' }]],
  ])('%s %j', (kind, rules, good, bad) => {
    for (const value of good) expect(accepts(kind, rules, value), JSON.stringify(value)).toBe(true);
    for (const value of bad) expect(accepts(kind, rules, value), JSON.stringify(value)).toBe(false);
  });

  test('a rule that nobody implemented is an error, not ignored', () => {
    expect(() => compileTests('string', { hostname: true })).toThrow('the rule string.hostname is not implemented');
  });
});

describe('Envoy itself agrees', () => {
  let envoy: string;
  let folder: string;

  beforeAll(async () => {
    envoy = (await findEnvoy({ onProgress: console.log })).path;
    folder = await mkdtemp(join(tmpdir(), 'schema-rules-'));
  }, 300_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const routes = (...list: object[]) => ({ name: 'a', domains: ['a'], routes: list });
  const cases: [string, object][] = [
    ['nothing broken', routes(forward({ cluster: 'c', timeout: { seconds: 5 } }))],
    ['an empty name', { ...routes(), name: '' }],
    ['no domains', { name: 'a' }],
    ['a line break in a domain', { name: 'a', domains: ['a\nb'] }],
    ['no match', routes({ route: { cluster: 'c' } })],
    ['no path', routes({ match: {}, route: { cluster: 'c' } })],
    ['no action', routes({ match })],
    ['an empty cluster', routes(forward({ cluster: '' }))],
    ['status 99', routes({ match, direct_response: { status: 99 } })],
    ['status 200', routes({ match, direct_response: { status: 200 } })],
    ['status 600', routes({ match, direct_response: { status: 600 } })],
    ['an undefined redirect', routes({ match, redirect: { response_code: 9 } })],
    ['a query in a path prefix', routes({ match: { path_separated_prefix: '/a?b' }, route: { cluster: 'c' } })],
    ['a slash behind a path prefix', routes({ match: { path_separated_prefix: '/a/' }, route: { cluster: 'c' } })],
    ['a back-off without interval', routes(forward({ retry_policy: { retry_back_off: {} } }))],
    ['a back-off of 0', routes(forward({ retry_policy: { retry_back_off: { base_interval: {} } } }))],
    ['1001 headers', { ...routes(), request_headers_to_add: headers(1001) }],
    ['1000 headers', { ...routes(), request_headers_to_add: headers(1000) }],
    ['a header without name', { ...routes(), request_headers_to_add: [{ header: { value: 'v' } }] }],
    ['a space in a header to remove', { ...routes(), request_headers_to_remove: ['a b'] }],
    ['a line break in a header to remove', { ...routes(), request_headers_to_remove: ['a\nb'] }],
    ['a cookie without name', routes(forward({ hash_policy: [{ cookie: { name: '' } }] }))],
    ['weighted clusters without any', routes({ match, route: { weighted_clusters: {} } })],
  ];

  test.each(cases)('%s', async (title, message) => {
    const violations = findViolations(virtualHost, message);
    const output = await validate(title, message);
    if (violations.length === 0) expect(output).toBe('accepted');
    else expect(output, JSON.stringify(violations)).toContain('Proto constraint validation failed');
  });

  /** `accepted`, or what Envoy says against a virtual host. */
  async function validate(title: string, message: object): Promise<string> {
    const file = join(folder, `${title.replaceAll(' ', '-')}.json`);
    await writeFile(file, JSON.stringify(bootstrap(message)));
    return await new Promise((resolve) => {
      execFile(envoy, ['--mode', 'validate', '-c', file, '--log-level', 'error'], (error, _stdout, stderr) => {
        resolve(error === null ? 'accepted' : stderr);
      });
    });
  }

  function bootstrap(message: object): object {
    const manager = {
      '@type': `${prefix}envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      stat_prefix: 'x',
      route_config: { virtual_hosts: [toJson(virtualHost, encode(virtualHost as MessageName, message as never))] },
      http_filters: [
        { name: 'router', typed_config: { '@type': `${prefix}envoy.extensions.filters.http.router.v3.Router` } },
      ],
    };
    const address = { socket_address: { address: '127.0.0.1', port_value: 0 } };
    const listener = { name: 'l', address, filter_chains: [{ filters: [{ name: 'hcm', typed_config: manager }] }] };
    return {
      static_resources: { listeners: [listener], clusters: [{ name: 'c', type: 'STATIC', connect_timeout: '1s' }] },
    };
  }
});
