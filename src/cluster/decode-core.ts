/** Service, Secret and ConfigMap. */
import {
  asSecret,
  type Field,
  member,
  note,
  readList,
  readMap,
  readOneOf,
  readPort,
  readText,
  readTextMap,
  refuse,
  requirePort,
  warnUnknown,
} from './decode-fields.ts';
import { readAnnotations, TOP_LEVEL } from './decode-meta.ts';
import type { ConfigMap, ObjectMeta, Secret, Service, ServicePort } from './objects.ts';

const SERVICE_TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'];
export const PROTOCOLS = ['TCP', 'UDP', 'SCTP'];

export function decodeService(root: Field, meta: ObjectMeta): Service {
  const spec = member(root, 'spec');
  readMap(spec);
  const externalName = readText(member(spec, 'externalName'));
  const clusterIP = readText(member(spec, 'clusterIP'));
  const trafficDistribution = readText(member(spec, 'trafficDistribution'));
  return {
    kind: 'Service',
    ...meta,
    annotations: readAnnotations(root),
    type: readOneOf(member(spec, 'type'), SERVICE_TYPES, 'ClusterIP'),
    ...(externalName !== undefined && { externalName }),
    ...(clusterIP !== undefined && { clusterIP }),
    ...(trafficDistribution !== undefined && { trafficDistribution }),
    ports: readList(member(spec, 'ports')).map(decodeServicePort),
  };
}

function decodeServicePort(field: Field): ServicePort {
  readMap(field);
  warnUnknown(field, ['name', 'protocol', 'appProtocol', 'port', 'targetPort', 'nodePort']);
  const name = readText(member(field, 'name'));
  const targetPort = readTargetPort(member(field, 'targetPort'));
  return {
    ...(name !== undefined && name !== '' && { name }),
    port: requirePort(member(field, 'port')),
    ...(targetPort !== undefined && { targetPort }),
    protocol: readOneOf(member(field, 'protocol'), PROTOCOLS, 'TCP'),
  };
}

/** A number, or a name; 0 is how some tools write "absent". */
function readTargetPort(field: Field): number | string | undefined {
  if (field.value === 0) return undefined;
  return typeof field.value === 'string' ? field.value : readPort(field);
}

/** `stringData` wins over `data`, as when the API server merges them. */
export function decodeSecret(root: Field, meta: ObjectMeta): Secret {
  warnUnknown(root, [...TOP_LEVEL, 'type', 'data', 'stringData', 'immutable']);
  const data = asSecret(member(root, 'data'));
  const decoded = Object.keys(readMap(data)).map((name) => [name, readBase64(member(data, name))] as const);
  const written = Object.entries(readTextMap(asSecret(member(root, 'stringData'))));
  return {
    kind: 'Secret',
    ...meta,
    type: readText(member(root, 'type')) ?? 'Opaque',
    data: Object.fromEntries([
      ...decoded,
      ...written.map(([name, text]) => [name, bytesOf(Buffer.from(text))] as const),
    ]),
  };
}

/** Standard base64 with padding; line breaks are allowed, as in the Kubernetes API. */
function readBase64(field: Field): Uint8Array {
  const text = readText(field)?.replace(/[\r\n]/g, '') ?? '';
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) {
    refuse(field, 'The value is not base64; write plain text under stringData instead');
  }
  return bytesOf(Buffer.from(text, 'base64'));
}

/** Out of the pool that small buffers share, which would travel with each of them from thread to thread. */
function bytesOf(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer);
}

/** `binaryData` is not read. */
export function decodeConfigMap(root: Field, meta: ObjectMeta): ConfigMap {
  warnUnknown(root, [...TOP_LEVEL, 'data', 'binaryData', 'immutable']);
  const data = member(root, 'data');
  const entries = Object.keys(readMap(data)).map((name) => [name, readScalar(member(data, name))] as const);
  return { kind: 'ConfigMap', ...meta, data: Object.fromEntries(entries) };
}

/**
 * A number, or true and false, without quotes counts as if it had them: an API server refuses such a ConfigMap, but without it what
 * protects every backend would be open.
 */
function readScalar(field: Field): string {
  const { value } = field;
  if (typeof value !== 'boolean' && typeof value !== 'number') return readText(field) ?? '';
  const message = `The value ${value} is not text, so that no cluster takes it; it counts as "${value}", and belongs in quotes`;
  note(field, { severity: 'warning', code: 'ValueNotText', message });
  return String(value);
}
