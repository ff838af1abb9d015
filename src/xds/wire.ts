/**
 * The messages of the protocol on the wire, field by field as in Envoy's `envoy/service/discovery/v3/discovery.proto`.
 * Written by hand: requests are decoded without their large unused parts, and responses take resources that are bytes already.
 */
import { Reader } from 'protobufjs/minimal.js';
import { bytes, encodeFields, type Field, message, text } from './fields.ts';

/** The parts of `DeltaDiscoveryRequest` and `DiscoveryRequest` that are used. */
export interface DiscoveryRequest {
  /** What the client says of itself; required to be read in the first message of a stream only. */
  readonly node?: ClientNode;
  readonly typeUrl: string;
  /** Delta: names to add. State of the world: all names that are wanted. */
  readonly subscribe: readonly string[];
  /** Delta only. */
  readonly unsubscribe: readonly string[];
  /** Delta only: name → version of what the client still holds from an earlier stream. */
  readonly initialVersions: ReadonlyMap<string, string>;
  /** The response that this request acknowledges or rejects; empty when it does neither. */
  readonly nonce: string;
  /** Present exactly when the response was rejected. */
  readonly error?: RequestError;
}

/** `google.rpc.Status` without its details. The message is Envoy's own text and free in form. */
export interface RequestError {
  readonly code: number;
  readonly message: string;
}

/** The parts of `envoy.config.core.v3.Node` that are used. */
export interface ClientNode {
  readonly id: string;
  readonly cluster: string;
  /** `envoy` for Envoy. */
  readonly userAgent: string;
  readonly version?: Version;
}

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** A resource as it goes into a response. */
export interface WireResource {
  readonly name: string;
  readonly version: string;
  /** The encoded message, the value of the Any. */
  body(): Uint8Array;
}

export interface DiscoveryResponse {
  readonly systemVersion: string;
  readonly typeUrl: string;
  readonly nonce: string;
  readonly resources: readonly WireResource[];
  readonly removed: readonly string[];
}

/** About what a resource costs in a response besides its body and name: tags, lengths, version, type URL. */
export const RESOURCE_OVERHEAD_BYTES = 120;

export function encodeDeltaResponse(response: DiscoveryResponse): Uint8Array {
  const { systemVersion, typeUrl, nonce, resources, removed } = response;
  return encodeFields([
    text(1, systemVersion),
    ...resources.map((resource) =>
      message(2, [text(1, resource.version), any(typeUrl, resource), text(3, resource.name)]),
    ),
    text(4, typeUrl),
    text(5, nonce),
    ...removed.map((name) => text(6, name)),
  ]);
}

/** State of the world: neither versions nor names of single resources, and nothing can be said to be gone. */
export function encodeSotwResponse(response: DiscoveryResponse): Uint8Array {
  const { systemVersion, typeUrl, nonce, resources } = response;
  return encodeFields([
    text(1, systemVersion),
    ...resources.map((resource) => any(typeUrl, resource)),
    text(4, typeUrl),
    text(5, nonce),
  ]);
}

/** As field 2 of whatever it stands in. */
function any(typeUrl: string, resource: WireResource): Field {
  return message(2, [text(1, typeUrl), bytes(2, resource.body())]);
}

/**
 * Decodes a `DeltaDiscoveryRequest`. Throws on bytes that are not one.
 * @param withNode whether to read the node: Envoy may repeat some 60 KB of it in every message.
 */
export function decodeDeltaRequest(bytes: Uint8Array, withNode: boolean): DiscoveryRequest {
  let node: ClientNode | undefined;
  let typeUrl = '';
  let nonce = '';
  let error: RequestError | undefined;
  const subscribe: string[] = [];
  const unsubscribe: string[] = [];
  const initialVersions = new Map<string, string>();
  readFields(Reader.create(bytes), (field, reader) => {
    if (field === 1 && withNode) node = decodeNode(reader.bytes());
    else if (field === 2) typeUrl = reader.string();
    else if (field === 3) subscribe.push(reader.string());
    else if (field === 4) unsubscribe.push(reader.string());
    else if (field === 5) initialVersions.set(...decodeMapEntry(reader.bytes()));
    else if (field === 6) nonce = reader.string();
    else if (field === 7) error = decodeStatus(reader.bytes());
    else return false;
    return true;
  });
  return { typeUrl, subscribe, unsubscribe, initialVersions, nonce, ...(node && { node }), ...(error && { error }) };
}

/**
 * Decodes a `DiscoveryRequest`. Throws on bytes that are not one.
 * @param withNode whether to read the node.
 */
export function decodeSotwRequest(bytes: Uint8Array, withNode: boolean): DiscoveryRequest {
  let node: ClientNode | undefined;
  let typeUrl = '';
  let nonce = '';
  let error: RequestError | undefined;
  const subscribe: string[] = [];
  readFields(Reader.create(bytes), (field, reader) => {
    if (field === 2 && withNode) node = decodeNode(reader.bytes());
    else if (field === 3) subscribe.push(reader.string());
    else if (field === 4) typeUrl = reader.string();
    else if (field === 5) nonce = reader.string();
    else if (field === 6) error = decodeStatus(reader.bytes());
    else return false;
    return true;
  });
  const request = { typeUrl, subscribe, unsubscribe: [], initialVersions: new Map<string, string>(), nonce };
  return { ...request, ...(node && { node }), ...(error && { error }) };
}

function decodeMapEntry(bytes: Uint8Array): [key: string, value: string] {
  const entry: [string, string] = ['', ''];
  readFields(Reader.create(bytes), (field, reader) => {
    if (field !== 1 && field !== 2) return false;
    entry[field - 1] = reader.string();
    return true;
  });
  return entry;
}

function decodeStatus(bytes: Uint8Array): RequestError {
  const status = { code: 0, message: '' };
  readFields(Reader.create(bytes), (field, reader) => {
    if (field === 1) status.code = reader.int32();
    else if (field === 2) status.message = reader.string();
    else return false;
    return true;
  });
  return status;
}

function decodeNode(bytes: Uint8Array): ClientNode {
  const node: { id: string; cluster: string; userAgent: string; version?: Version } = {
    id: '',
    cluster: '',
    userAgent: '',
  };
  readFields(Reader.create(bytes), (field, reader) => {
    if (field === 1) node.id = reader.string();
    else if (field === 2) node.cluster = reader.string();
    else if (field === 6) node.userAgent = reader.string();
    else if (field === 7) Object.assign(node, parseVersion(reader.string()));
    else if (field === 8) Object.assign(node, decodeBuildVersion(reader.bytes()));
    else return false;
    return true;
  });
  return node;
}

/** `user_agent_version`, the free form of the version: `1.40.0-dev`. */
function parseVersion(text: string): { version?: Version } {
  const [, major, minor, patch] = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text) ?? [];
  if (major === undefined) return {};
  return { version: { major: Number(major), minor: Number(minor), patch: Number(patch ?? 0) } };
}

/** `BuildVersion`: a `SemanticVersion` and metadata. */
function decodeBuildVersion(bytes: Uint8Array): { version?: Version } {
  const version = { major: 0, minor: 0, patch: 0 };
  let present = false;
  readFields(Reader.create(bytes), (field, reader) => {
    if (field !== 1) return false;
    present = true;
    readFields(Reader.create(reader.bytes()), (part, numbers) => {
      if (part === 1) version.major = numbers.uint32();
      else if (part === 2) version.minor = numbers.uint32();
      else if (part === 3) version.patch = numbers.uint32();
      else return false;
      return true;
    });
    return true;
  });
  return present ? { version } : {};
}

/** Walks over the fields of a message; what `read` does not take is skipped. */
function readFields(reader: Reader, read: (field: number, reader: Reader) => boolean): void {
  while (reader.pos < reader.len) {
    const key = reader.uint32();
    if (!read(key >>> 3, reader)) reader.skipType(key & 7);
  }
}
