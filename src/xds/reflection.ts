/**
 * gRPC server reflection (https://grpc.io/docs/guides/reflection/): answers which services there are, and gives the descriptors
 * by which a client that was built without Envoy's schema, such as grpcurl, reads them. No I/O.
 */
import protobuf from 'protobufjs';
import 'protobufjs/ext/descriptor.js';
import { type DescriptorIndex, indexDescriptors } from './descriptors.ts';

export interface Reflection {
  /**
   * Answers one request, encoded like the request.
   * @throws Error on bytes that are no request.
   */
  answer(request: Uint8Array): Uint8Array;
}

const PACKAGES = ['grpc.reflection.v1', 'grpc.reflection.v1alpha'] as const;

/** Full names of the reflection services, which differ in nothing but their package. */
export const reflectionServices: readonly string[] = PACKAGES.map((name) => `${name}.ServerReflection`);

/** Path of the one method of a reflection service. */
export function reflectionPath(service: string): string {
  return `/${service}/ServerReflectionInfo`;
}

/** The fields of the protocol, for both packages. */
const protocol = (name: string) => `
  syntax = "proto3";
  package ${name};
  service ServerReflection {
    rpc ServerReflectionInfo(stream ServerReflectionRequest) returns (stream ServerReflectionResponse);
  }
  message ServerReflectionRequest {
    string host = 1;
    oneof message_request {
      string file_by_filename = 3;
      string file_containing_symbol = 4;
      ExtensionRequest file_containing_extension = 5;
      string all_extension_numbers_of_type = 6;
      string list_services = 7;
    }
  }
  message ExtensionRequest {
    string containing_type = 1;
    int32 extension_number = 2;
  }
  message ServerReflectionResponse {
    string valid_host = 1;
    ServerReflectionRequest original_request = 2;
    oneof message_response {
      FileDescriptorResponse file_descriptor_response = 4;
      ExtensionNumberResponse all_extension_numbers_response = 5;
      ListServiceResponse list_services_response = 6;
      ErrorResponse error_response = 7;
    }
  }
  message FileDescriptorResponse { repeated bytes file_descriptor_proto = 1; }
  message ExtensionNumberResponse {
    string base_type_name = 1;
    repeated int32 extension_number = 2;
  }
  message ListServiceResponse { repeated ServiceResponse service = 1; }
  message ServiceResponse { string name = 1; }
  message ErrorResponse {
    int32 error_code = 1;
    string error_message = 2;
  }
`;

/** gRPC status code NOT_FOUND. */
const NOT_FOUND = 5;

interface ReflectionRequest {
  readonly host?: string;
  readonly file_by_filename?: string;
  readonly file_containing_symbol?: string;
  readonly file_containing_extension?: { readonly containing_type?: string; readonly extension_number?: number };
  readonly all_extension_numbers_of_type?: string;
  readonly list_services?: string;
}

/**
 * @param descriptors encoded `google.protobuf.FileDescriptorSet` with the services and every message that they may carry.
 * @param services full names of the services that are served, those of reflection apart.
 */
export function createReflection(descriptors: Uint8Array, services: readonly string[]): Reflection {
  const roots = PACKAGES.map((name) => protobuf.parse(protocol(name), { keepCase: true }).root);
  const index = indexDescriptors([descriptors, ...roots.map((root) => describe(root))]);
  const names = [...services, ...reflectionServices].sort();
  // Both packages write the same bytes.
  const requestType = roots[0]!.lookupType('ServerReflectionRequest');
  const responseType = roots[0]!.lookupType('ServerReflectionResponse');
  return {
    answer: (bytes) => {
      const original = requestType.decode(bytes);
      const request = requestType.toObject(original) as ReflectionRequest;
      const response = { valid_host: request.host ?? '', original_request: original, ...answer(request, index, names) };
      return responseType.encode(response).finish();
    },
  };
}

function describe(root: protobuf.Root): Uint8Array {
  const set = root.toDescriptor('proto3');
  return set.$type.encode(set).finish();
}

function answer(request: ReflectionRequest, index: DescriptorIndex, services: readonly string[]): object {
  if (request.list_services !== undefined) {
    return { list_services_response: { service: services.map((name) => ({ name })) } };
  }
  if (request.file_by_filename !== undefined) {
    return file(index.fileByName(request.file_by_filename), `no file ${request.file_by_filename}`);
  }
  if (request.file_containing_symbol !== undefined) {
    return file(index.fileBySymbol(request.file_containing_symbol), `nothing called ${request.file_containing_symbol}`);
  }
  if (request.file_containing_extension !== undefined) {
    const { containing_type: type = '', extension_number: number = 0 } = request.file_containing_extension;
    return file(index.fileByExtension(type, number), `no extension ${number} of ${type}`);
  }
  return extensionNumbers(request.all_extension_numbers_of_type ?? '', index);
}

/** The files that it imports are left to be asked for: every client does, and most have them already. */
function file(descriptor: Uint8Array | undefined, otherwise: string): object {
  return descriptor === undefined
    ? notFound(otherwise)
    : { file_descriptor_response: { file_descriptor_proto: [descriptor] } };
}

function extensionNumbers(type: string, index: DescriptorIndex): object {
  const numbers = index.extensionNumbers(type);
  if (numbers === undefined) return notFound(`no message ${type}`);
  return { all_extension_numbers_response: { base_type_name: type, extension_number: numbers } };
}

function notFound(message: string): object {
  return { error_response: { error_code: NOT_FOUND, error_message: message } };
}
