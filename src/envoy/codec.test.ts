import fc from 'fast-check';
import protobuf from 'protobufjs';
import 'protobufjs/ext/descriptor.js';
import { afterEach, describe, expect, test } from 'vitest';
import { rootMessages } from '../../protos/roots.ts';
import type { Messages } from '../gen/messages.ts';
import { decode, encode, type MessageName, setStrict, toJson } from './codec.ts';
import { fullName, messageType, readDescriptorSet, typeUrlPrefix } from './schema.ts';
import { findUnknown } from './walk.ts';

const virtualHost = 'envoy.config.route.v3.VirtualHost';
const routeName = 'envoy.config.route.v3.Route';
const bufferUrl = `${typeUrlPrefix}envoy.extensions.filters.http.buffer.v3.Buffer`;
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** For messages that the compiler would refuse. */
const untyped = (name: MessageName, message: unknown) => encode(name, message as never);

afterEach(() => setStrict(false));

describe('encode', () => {
  test('writes the entries of a map by key, whatever the order of insertion, at every depth', () => {
    const metadata = (outer: readonly string[], inner: readonly string[]) => ({
      filter_metadata: Object.fromEntries(
        outer.map((key) => [key, { fields: Object.fromEntries(inner.map((name) => [name, { string_value: name }])) }]),
      ),
    });
    const name = 'envoy.config.core.v3.Metadata';
    const sorted = encode(name, metadata(['a', 'b'], ['x', 'y', 'z']));
    expect(hex(encode(name, metadata(['b', 'a'], ['z', 'x', 'y'])))).toBe(hex(sorted));
    expect(sorted.indexOf('a'.charCodeAt(0))).toBeLessThan(sorted.indexOf('b'.charCodeAt(0)));
  });

  test('does not change the message', () => {
    const message = { filter_metadata: { b: {}, a: {} } };
    encode('envoy.config.core.v3.Metadata', message);
    expect(Object.keys(message.filter_metadata)).toEqual(['b', 'a']);
  });

  test('writes a zero that has presence, and leaves out one that has none', () => {
    expect(hex(encode('google.protobuf.Value', { number_value: 0 }))).toBe('110000000000000000');
    expect(hex(encode('envoy.config.route.v3.RouteMatch', { prefix: '' }))).toBe('0a00');
    expect(hex(encode('google.protobuf.Duration', { seconds: 0, nanos: 0 }))).toBe('');
    const cluster = encode('envoy.config.cluster.v3.Cluster', { per_connection_buffer_limit_bytes: { value: 0 } });
    expect(hex(cluster)).toBe('2a00'); // field 5, an empty wrapper
  });

  test('writes an Any with its message, at every depth', () => {
    const bytes = encode(routeName, {
      match: { prefix: '/' },
      route: { cluster: 'c' },
      typed_per_filter_config: {
        buffer: {
          '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig',
          config: { '@type': bufferUrl, max_request_bytes: { value: 5 } },
        },
      },
    });
    const inner = Buffer.from(
      encode('envoy.extensions.filters.http.buffer.v3.Buffer', { max_request_bytes: { value: 5 } }),
    );
    expect(
      Buffer.from(bytes).includes(Buffer.concat([Buffer.from(bufferUrl), Buffer.from([0x12, inner.length]), inner])),
    ).toBe(true);
  });

  test('writes an encoded Any as it is', () => {
    const value = encode('envoy.extensions.filters.http.buffer.v3.Buffer', { max_request_bytes: { value: 5 } });
    const encoded = encode('google.protobuf.Any', { type_url: bufferUrl, value });
    const typed = encode('google.protobuf.Any', { '@type': bufferUrl, max_request_bytes: { value: 5 } } as const);
    expect(hex(encoded)).toBe(hex(typed));
    const empty = { type_url: bufferUrl, value: new Uint8Array() };
    expect(hex(encode('google.protobuf.Any', empty))).toBe(hex(encode('google.protobuf.Any', { '@type': bufferUrl })));
  });

  test('refuses an Any of an unknown type', () => {
    expect(() => untyped('google.protobuf.Any', { '@type': 'type.googleapis.com/no.Such' })).toThrow(
      'an Any of the unknown type type.googleapis.com/no.Such',
    );
  });

  test('refuses a message that the schema does not have', () => {
    expect(() => untyped('no.Such' as never, {})).toThrow('no.Such is not in the schema');
  });

  test('returns memory of its own', () => {
    const first = encode(virtualHost, { name: 'first' });
    expect(first.buffer.byteLength).toBe(first.length);
    const copy = hex(first);
    for (let i = 0; i < 1000; i++) encode(virtualHost, { name: `other-${i}` });
    expect(hex(first)).toBe(copy);
  });

  test('takes 64-bit numbers as far as JavaScript has them', () => {
    const message = { value: Number.MAX_SAFE_INTEGER };
    expect(decode('google.protobuf.UInt64Value', encode('google.protobuf.UInt64Value', message))).toEqual(message);
    expect(decode('google.protobuf.Duration', encode('google.protobuf.Duration', { seconds: -5 }))).toEqual({
      seconds: -5,
    });
  });

  test('checks the message in strict mode only', () => {
    const message = { name: 'a', domain: ['a'], routes: [{ match: { path: '/', prefix: '/' } }] };
    expect(untyped(virtualHost, message)).toBeInstanceOf(Uint8Array);
    setStrict(true);
    expect(() => untyped(virtualHost, message)).toThrow(
      `not a ${virtualHost}: domain: unknown field; routes[0].match: more than one member of path_specifier: prefix, path`,
    );
  });
});

describe('decode', () => {
  test('keeps an Any of an unknown type as bytes', () => {
    const message = { type_url: 'type.googleapis.com/no.Such', value: Uint8Array.of(1, 2) };
    expect(decode('google.protobuf.Any', encode('google.protobuf.Any', message))).toEqual(message);
  });

  test('returns bytes that do not change with the input', () => {
    const input = encode('envoy.config.core.v3.DataSource', { inline_bytes: Uint8Array.of(1, 2, 3) });
    const { inline_bytes } = decode('envoy.config.core.v3.DataSource', input);
    input.fill(0);
    expect(inline_bytes).toEqual(Uint8Array.of(1, 2, 3));
  });

  test('refuses what is no such message', () => {
    expect(() => decode(virtualHost, Uint8Array.of(0x0a, 0xff))).toThrow();
  });
});

describe('any message', () => {
  const samples = rootMessages.filter((name) => messageType(name).fieldsArray.length > 0) as MessageName[];

  test.each(samples)('%s: what is encoded is what protobufjs reads, and what is decoded', (name) => {
    const type = plainRoot().lookupType(`.${name}`);
    fc.assert(
      fc.property(messageArbitrary(messageType(name), 4), (message) => {
        const bytes = untyped(name, message);
        // Read by protobufjs alone, without what this codec adds.
        expect(plainObject(type, bytes)).toEqual(
          plainObject(type, type.encode(type.fromObject(packAnys(message))).finish()),
        );
        const decoded = decode(name, bytes);
        expect(findUnknown(name, decoded)).toEqual([]);
        expect(hex(encode(name, decoded as Messages[typeof name]))).toBe(hex(bytes));
        expect(() => JSON.stringify(toJson(name, bytes))).not.toThrow();
      }),
      { numRuns: 5 },
    );
  });

  test('the order of keys in objects does not matter', () => {
    fc.assert(
      fc.property(messageArbitrary(messageType(virtualHost), 5), (message) => {
        expect(hex(untyped(virtualHost, reversed(message)))).toBe(hex(untyped(virtualHost, message)));
      }),
      { numRuns: 100 },
    );
  });
});

let plain: protobuf.Root | undefined;
function plainRoot(): protobuf.Root {
  plain ??= protobuf.Root.fromDescriptor(readDescriptorSet(), { keepCase: true });
  return plain;
}

function plainObject(type: protobuf.Type, bytes: Uint8Array): unknown {
  return type.toObject(type.decode(bytes), { longs: String, bytes: String });
}

/** Encodes every Any with protobufjs' own converter, innermost first; maps sorted, as they stand inside its bytes. */
function packAnys(value: unknown): { [name: string]: unknown } {
  return visit(sorted(value), (object) => {
    if (typeof object['@type'] !== 'string') return object;
    const { '@type': url, ...fields } = object;
    const type = plainRoot().lookupType(`.${url.slice(typeUrlPrefix.length)}`);
    return { type_url: url, value: type.encode(type.fromObject(fields)).finish() };
  }) as { [name: string]: unknown };
}

function sorted(value: unknown): unknown {
  return visit(value, (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))));
}

function reversed(value: unknown): unknown {
  return visit(value, (object) => Object.fromEntries(Object.entries(object).reverse()));
}

function visit(value: unknown, change: (object: Record<string, unknown>) => Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => visit(item, change));
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  return change(Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visit(item, change)])));
}

const anyMessages = ['google.protobuf.StringValue', 'envoy.extensions.filters.http.buffer.v3.Buffer', virtualHost];

/** Messages of a type, with few fields set, nested to the given depth. */
function messageArbitrary(type: protobuf.Type, depth: number): fc.Arbitrary<Record<string, unknown>> {
  if (fullName(type) === 'google.protobuf.Any') return anyArbitrary(depth);
  const fields = type.fieldsArray.filter(
    (field) => depth > 0 || !(field.resolve().resolvedType instanceof protobuf.Type),
  );
  return fc.subarray(fields, { maxLength: Math.min(6, fields.length) }).chain((chosen) => {
    const members = new Map(chosen.map((field) => [field.partOf?.name ?? field.name, field])); // one of each oneof
    const entries = [...members.values()].map((field) => [field.name, fieldArbitrary(field, depth)]);
    return fc.record(Object.fromEntries(entries) as Record<string, fc.Arbitrary<unknown>>);
  });
}

function anyArbitrary(depth: number): fc.Arbitrary<Record<string, unknown>> {
  if (depth <= 0) return fc.constant({ '@type': `${typeUrlPrefix}google.protobuf.Empty` });
  const names = fc.constantFrom(...anyMessages);
  return names.chain((name) =>
    messageArbitrary(messageType(name), depth - 1).map((message) => ({ '@type': typeUrlPrefix + name, ...message })),
  );
}

function fieldArbitrary(field: protobuf.Field, depth: number): fc.Arbitrary<unknown> {
  const item = itemArbitrary(field, depth);
  if (field instanceof protobuf.MapField) {
    const key = field.keyType === 'string' ? fc.string() : fc.nat().map(String);
    return fc.dictionary(key, item, { maxKeys: 3 });
  }
  return field.repeated ? fc.array(item, { maxLength: 2 }) : item;
}

function itemArbitrary(field: protobuf.Field, depth: number): fc.Arbitrary<unknown> {
  if (field.resolvedType instanceof protobuf.Type) return messageArbitrary(field.resolvedType, depth - 1);
  if (field.resolvedType instanceof protobuf.Enum) return fc.constantFrom(...Object.values(field.resolvedType.values));
  switch (field.type) {
    case 'string':
      return fc.string({ unit: 'grapheme', maxLength: 8 });
    case 'bool':
      return fc.boolean();
    case 'bytes':
      return fc.uint8Array({ maxLength: 4 });
    case 'double':
      return fc.double({ noNaN: true });
    case 'float':
      return fc.float({ noNaN: true });
    case 'int32':
      return fc.integer();
    case 'int64':
      return fc.maxSafeInteger();
    case 'uint64':
      return fc.maxSafeNat();
    default:
      return fc.nat();
  }
}
