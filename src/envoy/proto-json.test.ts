import { expect, test } from 'vitest';
import type { Messages } from '../gen/messages.ts';
import { encode, type MessageName, toJson } from './codec.ts';

function json<N extends MessageName>(name: N, message: Messages[N], options?: { redact: boolean }): unknown {
  return toJson(name, encode(name, message), options);
}

const duration = (seconds: number, nanos: number) => json('google.protobuf.Duration', { seconds, nanos });

test('durations have 0, 3, 6 or 9 digits of a second', () => {
  expect(duration(5, 0)).toBe('5s');
  expect(duration(0, 0)).toBe('0s');
  expect(duration(0, 250_000_000)).toBe('0.250s');
  expect(duration(1, 1_000)).toBe('1.000001s');
  expect(duration(1, 1)).toBe('1.000000001s');
  expect(duration(-1, -500_000_000)).toBe('-1.500s');
  expect(duration(0, -500_000_000)).toBe('-0.500s');
});

test('timestamps are ISO 8601', () => {
  expect(json('google.protobuf.Timestamp', { seconds: 1_700_000_000, nanos: 5_000_000 })).toBe(
    '2023-11-14T22:13:20.005Z',
  );
  expect(json('google.protobuf.Timestamp', {})).toBe('1970-01-01T00:00:00Z');
});

test('wrappers are bare, zero included; 64-bit integers are strings', () => {
  expect(json('google.protobuf.UInt32Value', { value: 0 })).toBe(0);
  expect(json('google.protobuf.BoolValue', { value: false })).toBe(false);
  expect(json('google.protobuf.StringValue', {})).toBe('');
  expect(json('google.protobuf.UInt64Value', { value: 5 })).toBe('5');
  expect(json('google.protobuf.DoubleValue', { value: Number.POSITIVE_INFINITY })).toBe('Infinity');
});

test('a Struct is the JSON that it means', () => {
  const list = { list_value: { values: [{ number_value: 1 }, { bool_value: false }, { null_value: 0 } as const] } };
  const struct = { fields: { b: { string_value: 'x' }, a: list, c: { struct_value: { fields: {} } } } };
  const shown = json('google.protobuf.Struct', struct);
  expect(JSON.stringify(shown)).toBe('{"a":[1,false,null],"b":"x","c":{}}');
});

test('enums have names, maps are sorted, an Any shows its message', () => {
  const shown = json('envoy.config.route.v3.Route', {
    match: { prefix: '/' },
    redirect: { response_code: 1 },
    typed_per_filter_config: {
      z: { '@type': 'type.googleapis.com/google.protobuf.StringValue', value: 'x' },
      a: {
        '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig',
        config: {
          '@type': 'type.googleapis.com/envoy.extensions.filters.http.buffer.v3.Buffer',
          max_request_bytes: { value: 1 },
        },
      },
      b: { type_url: 'type.googleapis.com/no.Such', value: Uint8Array.of(1) },
    },
  });
  expect(JSON.stringify(shown, null, 1)).toBe(
    JSON.stringify(
      {
        match: { prefix: '/' },
        redirect: { response_code: 'FOUND' },
        typed_per_filter_config: {
          a: {
            '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig',
            config: {
              '@type': 'type.googleapis.com/envoy.extensions.filters.http.buffer.v3.Buffer',
              max_request_bytes: 1,
            },
          },
          b: { '@type': 'type.googleapis.com/no.Such', value: 'AQ==' },
          z: { '@type': 'type.googleapis.com/google.protobuf.StringValue', value: 'x' },
        },
      },
      null,
      1,
    ),
  );
});

const secret: Messages['envoy.extensions.transport_sockets.tls.v3.Secret'] = {
  name: 'shop/tls',
  tls_certificate: {
    certificate_chain: { inline_string: 'CHAIN' },
    private_key: { inline_bytes: Buffer.from('KEY') },
    password: { filename: '/etc/password' },
  },
};

test('what the schema marks sensitive is hidden, with its shape', () => {
  expect(json('envoy.extensions.transport_sockets.tls.v3.Secret', secret)).toEqual({
    name: 'shop/tls',
    tls_certificate: {
      certificate_chain: { inline_string: 'CHAIN' },
      private_key: { inline_bytes: '[redacted]' },
      password: { filename: '[redacted]' },
    },
  });
});

test('sensitive fields are hidden inside an Any, in lists and maps', () => {
  const hidden = json('google.protobuf.Any', {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.basic_auth.v3.BasicAuth',
    users: { inline_string: 'user:{SHA}hash' },
  });
  expect(JSON.stringify(hidden)).not.toContain('user:');
  const keys = json('envoy.extensions.transport_sockets.tls.v3.TlsSessionTicketKeys', {
    keys: [{ inline_string: 'KEY' }],
  });
  expect(keys).toEqual({ keys: [{ inline_string: '[redacted]' }] });
  const checks = json('envoy.extensions.filters.http.ext_authz.v3.CheckSettings', {
    context_extensions: { token: 'x' },
  });
  expect(checks).toEqual({ context_extensions: { token: '[redacted]' } });
});

test('nothing is hidden when that is asked for', () => {
  expect(json('envoy.extensions.transport_sockets.tls.v3.Secret', secret, { redact: false })).toMatchObject({
    tls_certificate: { private_key: { inline_bytes: Buffer.from('KEY').toString('base64') } },
  });
});
