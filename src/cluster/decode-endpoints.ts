/** EndpointSlice (v1, v1beta1) and the older Endpoints. */
import { type AddressFamily, canonicalIp } from '../ip-address.ts';
import { PROTOCOLS } from './decode-core.ts';
import {
  type Field,
  isPresent,
  member,
  note,
  readBoolean,
  readList,
  readMap,
  readOneOf,
  readPort,
  readText,
  readTextMap,
  refuse,
  requirePort,
  requireText,
  show,
} from './decode-fields.ts';
import type { EndpointPort, EndpointSlice, ObjectMeta, SliceEndpoint } from './objects.ts';

const SERVICE_LABEL = 'kubernetes.io/service-name';
const ZONE_LABEL = 'topology.kubernetes.io/zone';
const ADDRESS_TYPES = ['IPv4', 'IPv6', 'FQDN'] as const;

/** Nothing for a slice of names (FQDN), with a warning: such a slice holds no address. */
export function decodeEndpointSlice(root: Field, meta: ObjectMeta): EndpointSlice[] {
  const type = member(root, 'addressType');
  if (!isPresent(type)) refuse(type, `One of ${ADDRESS_TYPES.join(', ')} is required`);
  const addressType = readOneOf(type, ADDRESS_TYPES, 'IPv4');
  if (addressType === 'FQDN') {
    const message = 'EndpointSlices of the address type FQDN are not supported; it is ignored';
    note(type, { severity: 'warning', code: 'AddressTypeUnsupported', message });
    return [];
  }
  const family = addressType === 'IPv6' ? 'IPv6' : 'IPv4';
  return [
    {
      kind: 'EndpointSlice',
      ...meta,
      service: readTextMap(member(member(root, 'metadata'), 'labels'))[SERVICE_LABEL] ?? '',
      addressType: family,
      ports: readList(member(root, 'ports')).map((port) => decodePort(port, readPort(member(port, 'port')))),
      endpoints: readList(member(root, 'endpoints')).map((endpoint) => decodeEndpoint(endpoint, family)),
    },
  ];
}

function decodeEndpoint(field: Field, family: AddressFamily): SliceEndpoint {
  readMap(field);
  const conditions = member(field, 'conditions');
  readMap(conditions);
  const serving = readBoolean(member(conditions, 'serving'));
  const terminating = readBoolean(member(conditions, 'terminating'));
  // v1beta1 says it in `topology`.
  const zone = readText(member(field, 'zone')) ?? readTextMap(member(field, 'topology'))[ZONE_LABEL];
  const hints = member(field, 'hints');
  readMap(hints);
  const forZones = readList(member(hints, 'forZones')).map((hint) => {
    readMap(hint);
    return requireText(member(hint, 'name'));
  });
  return {
    addresses: readList(member(field, 'addresses')).map((address) => readAddress(address, family)),
    ready: readBoolean(member(conditions, 'ready')) ?? true,
    ...(serving !== undefined && { serving }),
    ...(terminating !== undefined && { terminating }),
    ...(zone !== undefined && { zone }),
    ...(forZones.length > 0 && { forZones }),
  };
}

function decodePort(field: Field, port: number | undefined): EndpointPort {
  readMap(field);
  return {
    name: readText(member(field, 'name')) ?? '',
    ...(port !== undefined && { port }),
    protocol: readOneOf(member(field, 'protocol'), PROTOCOLS, 'TCP'),
  };
}

/** One slice per subset and address family, named `<endpoints>~<index>`, a name that no real slice can have. */
export function decodeEndpoints(root: Field, meta: ObjectMeta): EndpointSlice[] {
  const slices: EndpointSlice[] = [];
  for (const subset of readList(member(root, 'subsets'))) {
    readMap(subset);
    const ports = readList(member(subset, 'ports')).map((port) => decodePort(port, requirePort(member(port, 'port'))));
    const endpoints = [
      ...readList(member(subset, 'addresses')).map((address) => decodeSubsetAddress(address, true)),
      ...readList(member(subset, 'notReadyAddresses')).map((address) => decodeSubsetAddress(address, false)),
    ];
    for (const family of ['IPv4', 'IPv6'] as const) {
      const ofFamily = endpoints.filter((endpoint) => endpoint.family === family).map(({ endpoint }) => endpoint);
      if (ofFamily.length === 0) continue;
      const name = `${meta.name}~${slices.length}`;
      const common = { ...meta, name, service: meta.name, addressType: family };
      slices.push({ kind: 'EndpointSlice', ...common, ports, endpoints: ofFamily });
    }
  }
  return slices;
}

function decodeSubsetAddress(field: Field, ready: boolean): { family: AddressFamily; endpoint: SliceEndpoint } {
  readMap(field);
  const ip = member(field, 'ip');
  const family = typeof ip.value === 'string' && ip.value.includes(':') ? 'IPv6' : 'IPv4';
  return { family, endpoint: { addresses: [readAddress(ip, family)], ready } };
}

/** The literal in canonical form. */
function readAddress(field: Field, family: AddressFamily): string {
  const text = requireText(field);
  const canonical = canonicalIp(text);
  if (text !== '' && canonical?.family !== family) refuse(field, `${show(field)} is no ${family} address`);
  return canonical?.ip ?? '';
}
