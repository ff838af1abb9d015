import { expect, test } from 'vitest';
import { findUnknown } from './walk.ts';

const virtualHost = 'envoy.config.route.v3.VirtualHost';
const route = 'envoy.config.route.v3.Route';
const bufferUrl = 'type.googleapis.com/envoy.extensions.filters.http.buffer.v3.Buffer';

test('a good message has no unknown parts', () => {
  const message = {
    name: 'a',
    domains: ['a'],
    include_request_attempt_count: true,
    require_tls: 1,
    hedge_policy: undefined,
    metadata: { filter_metadata: { x: { fields: { n: { null_value: 0 } } } } },
    routes: [
      {
        match: { prefix: '', case_sensitive: { value: false } },
        route: { cluster: 'c', timeout: { seconds: 1, nanos: 5 } },
        typed_per_filter_config: {
          typed: { '@type': bufferUrl, max_request_bytes: { value: 4294967295 } },
          encoded: { type_url: bufferUrl, value: new Uint8Array() },
        },
      },
    ],
  };
  expect(findUnknown(virtualHost, message)).toEqual([]);
});

const enumReason = 'expected RedirectResponseCode, got';

test.each<[string, string, unknown, string]>([
  ['an unknown key', virtualHost, { nmae: 'a' }, 'nmae: unknown field'],
  ['an inherited name', virtualHost, { constructor: 1, toString: 1 }, 'constructor: unknown field'],
  ['a JSON name', virtualHost, { requireTls: 1 }, 'requireTls: unknown field'],
  ['no object', virtualHost, 'a', '(root): expected an object, got string "a"'],
  ['null', virtualHost, { metadata: null }, 'metadata: expected an object, got object null'],
  ['a number for a string', virtualHost, { name: 1 }, 'name: expected string, got number 1'],
  ['half a character', virtualHost, { name: '\ud800' }, 'name: expected string, got string "\\ud800"'],
  ['a string for a list', virtualHost, { domains: 'a' }, 'domains: expected an array, got string "a"'],
  ['a list for a message', route, { match: [] }, 'match: expected an object, got an array'],
  ['a list for a map', route, { typed_per_filter_config: [] }, 'typed_per_filter_config: expected a map, got an array'],
  [
    'a name for an enum',
    route,
    { redirect: { response_code: 'FOUND' } },
    `redirect.response_code: ${enumReason} string "FOUND"`,
  ],
  [
    'a number that no enum value has',
    route,
    { redirect: { response_code: 9 } },
    `redirect.response_code: ${enumReason} number 9`,
  ],
  ['a duration as text', route, { route: { timeout: '5s' } }, 'route.timeout: expected an object, got string "5s"'],
  [
    'a bare wrapper',
    route,
    { match: { case_sensitive: true } },
    'match.case_sensitive: expected an object, got boolean true',
  ],
  [
    'a fraction',
    route,
    { direct_response: { status: 1.5 } },
    'direct_response.status: expected uint32, got number 1.5',
  ],
  [
    'a negative number',
    route,
    { direct_response: { status: -1 } },
    'direct_response.status: expected uint32, got number -1',
  ],
  [
    'too large a number',
    route,
    { direct_response: { status: 2 ** 32 } },
    'direct_response.status: expected uint32, got number 4294967296',
  ],
  [
    'an inexact number',
    'google.protobuf.UInt64Value',
    { value: 2 ** 53 },
    'value: expected uint64, got number 9007199254740992',
  ],
  [
    'text for bytes',
    'envoy.config.core.v3.DataSource',
    { inline_bytes: 'x' },
    'inline_bytes: expected bytes, got string "x"',
  ],
  ['a wrong item', virtualHost, { routes: [{}, { nmae: 1 }] }, 'routes[1].nmae: unknown field'],
  [
    'two members of a oneof',
    route,
    { match: { path: '', prefix: '' } },
    'match: more than one member of path_specifier: prefix, path',
  ],
  [
    'an Any without a type',
    route,
    { typed_per_filter_config: { x: { max: 1 } } },
    'typed_per_filter_config["x"].max: unknown field',
  ],
  ['an Any with a bare name', 'google.protobuf.Any', { '@type': 'x.Y' }, '@type: not a type URL: string "x.Y"'],
  [
    'an Any of an unknown type',
    'google.protobuf.Any',
    { '@type': 'type.googleapis.com/x.Y' },
    '@type: unknown type type.googleapis.com/x.Y',
  ],
  ['an unknown key in an Any', 'google.protobuf.Any', { '@type': bufferUrl, max: 1 }, 'max: unknown field'],
  [
    'a key that is no number',
    'google.api.expr.v1alpha1.CheckedExpr',
    { type_map: { x: {} } },
    'type_map["x"]: expected a key of type int64',
  ],
])('%s', (_title, name, message, problem) => {
  expect(findUnknown(name, message)).toContain(problem);
});
