/** Reflection over the real schema: whatever a client may ask for after listing the services is there. */
import protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { readDescriptorSet } from '../../src/envoy/schema.ts';
import { indexDescriptors } from '../../src/xds/descriptors.ts';
import { createReflection } from '../../src/xds/reflection.ts';
import { typeUrls } from '../../src/xds/resource.ts';
import { discoveryMethods } from '../../src/xds/services.ts';

/** Written down once more, independent of the codec under test. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Request { string host = 1; string file_by_filename = 3; string file_containing_symbol = 4;
    Extension file_containing_extension = 5; string all_extension_numbers_of_type = 6; string list_services = 7; }
  message Extension { string containing_type = 1; int32 extension_number = 2; }
  message Response { string valid_host = 1; Request original_request = 2; Files files = 4; Numbers numbers = 5;
    Services services = 6; Fault fault = 7; }
  message Files { repeated bytes file = 1; }
  message Numbers { string type = 1; repeated int32 number = 2; }
  message Services { repeated Service service = 1; }
  message Service { string name = 1; }
  message Fault { int32 code = 1; string message = 2; }
  message FileDescriptor { string name = 1; string package = 2; repeated string dependency = 3; }
`);
const requestType = root.lookupType('Request');
const responseType = root.lookupType('Response');
const fileType = root.lookupType('FileDescriptor');

interface Answer {
  readonly originalRequest: unknown;
  readonly files?: { readonly file: readonly Uint8Array[] };
  readonly numbers?: { readonly type: string; readonly number: readonly number[] };
  readonly services?: { readonly service: readonly { readonly name: string }[] };
  readonly fault?: { readonly code: number; readonly message: string };
}

const served = [...new Set(discoveryMethods.map(({ service }) => service))];
const reflection = createReflection(readDescriptorSet(), served);

function ask(request: Record<string, unknown>): Answer {
  const bytes = requestType.encode(requestType.fromObject(request)).finish();
  return responseType.toObject(responseType.decode(reflection.answer(bytes))) as Answer;
}

function fileOf(answer: Answer): { readonly name: string; readonly dependency: readonly string[] } {
  const [file] = answer.files?.file ?? [];
  if (file === undefined) throw new Error(`no file: ${JSON.stringify(answer.fault)}`);
  return fileType.toObject(fileType.decode(file), { arrays: true }) as ReturnType<typeof fileOf>;
}

const listed = (ask({ listServices: '*' }).services?.service ?? []).map(({ name }) => name);

test('lists the services that are served, itself included', () => {
  expect(listed).toEqual(
    [...served, 'grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'].sort(),
  );
});

test.each([
  ...listed,
  ...discoveryMethods.map(({ service, method }) => `${service}.${method}`),
  ...Object.values(typeUrls).map((url) => url.slice(url.indexOf('/') + 1)),
  'grpc.reflection.v1.ServerReflectionResponse',
])('describes %s, with everything that its file imports', (symbol) => {
  const pending = [fileOf(ask({ fileContainingSymbol: symbol }))];
  const seen = new Set<string>();
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (seen.has(file.name)) continue;
    seen.add(file.name);
    for (const name of file.dependency) pending.push(fileOf(ask({ fileByFilename: name })));
  }
  expect(seen.size).toBeGreaterThan(0);
});

describe('what there is not', () => {
  test.each([
    [{ fileByFilename: 'no.proto' }, 'no file no.proto'],
    [{ fileContainingSymbol: 'no.Such' }, 'nothing called no.Such'],
    [
      { fileContainingExtension: { containingType: 'google.protobuf.FieldOptions', extensionNumber: 1 } },
      'no extension 1',
    ],
    [{ allExtensionNumbersOfType: 'no.Such' }, 'no message no.Such'],
  ])('%j', (request, message) => {
    expect(ask(request)).toMatchObject({ fault: { code: 5, message: expect.stringContaining(message) } });
  });
});

test('extensions of options are found by number, in the file that declares them', () => {
  const type = 'google.protobuf.FieldOptions';
  const numbers = ask({ allExtensionNumbersOfType: type }).numbers;
  expect(numbers?.number).toContain(1071);
  expect(numbers?.type).toBe(type);
  expect(fileOf(ask({ fileContainingExtension: { containingType: type, extensionNumber: 1071 } })).name).toBe(
    'validate/validate.proto',
  );
});

test('repeats the request, as the protocol asks', () => {
  expect(ask({ host: 'h', fileByFilename: 'no.proto' })).toMatchObject({
    validHost: 'h',
    originalRequest: { host: 'h', fileByFilename: 'no.proto' },
  });
});

test('bytes that are no request are a fault', () => {
  expect(() => reflection.answer(Buffer.from([0xff]))).toThrow();
});

test('an index finds fields, values and nested declarations by their full names', () => {
  const index = indexDescriptors([readDescriptorSet()]);
  const file = index.fileByName('envoy/config/route/v3/route_components.proto');
  for (const symbol of [
    'envoy.config.route.v3.VirtualHost.domains',
    'envoy.config.route.v3.VirtualHost.TlsRequirementType',
    'envoy.config.route.v3.VirtualHost.EXTERNAL_ONLY',
    'envoy.config.route.v3.RouteMatch.path_specifier',
  ]) {
    expect(index.fileBySymbol(symbol)).toBe(file);
  }
});
