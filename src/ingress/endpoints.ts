import type { LocalEndpoints } from '../cluster/cluster-state.ts';
import type { EndpointSlice, Service, ServicePort } from '../cluster/objects.ts';
import type { Engine, Key, Reader, Table } from '../derive.ts';
import { canonicalIp } from '../ip-address.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import type { Address, Endpoints, EndpointsName } from '../model/proxy-model.ts';
import { diagnose, quote } from './diagnose.ts';
import { parseEndpoints, type ServicePortKey } from './names.ts';
import { numericTargetPort, servicePortByNumber } from './service-port.ts';
import { endpointsFor, nearZone } from './topology.ts';

export interface EndpointsSources {
  readonly services: Table<Service>;
  readonly slices: Table<EndpointSlice>;
  readonly localEndpoints: Table<LocalEndpoints>;
}

export interface EndpointsOptions {
  /** Where the proxy stands, if Services may ask for endpoints near by. */
  readonly zone?: string;
}

/** The addresses of a Service port, as they are read. */
export type ReadEndpoints = (name: EndpointsName, read: Reader) => Endpoints;

export function endpointsReader(
  engine: Engine,
  sources: EndpointsSources,
  { zone }: EndpointsOptions = {},
): ReadEndpoints {
  const slicesByService = engine.group<EndpointSlice>('slices-by-service', sources.slices, (_, slice) =>
    slice.service === '' ? [] : [[`${slice.namespace}/${slice.service}`, true]],
  );
  const lookUp = (servicePort: ServicePortKey, read: Reader) =>
    endpointsOf(servicePort, read, { ...sources, slicesByService }, zone);
  return (name, read) => {
    const { own, primary } = parseEndpoints(name);
    if (primary === undefined) return { name, ...lookUp(own, read) };
    // A canary never answers for a primary that is down, and its requests go to the primary while it is down itself.
    const ofPrimary = lookUp(primary, read).addresses;
    if (ofPrimary.length === 0) return { name, addresses: [], diagnostics: [] };
    const { addresses, diagnostics } = lookUp(own, read);
    return { name, addresses: addresses.length === 0 ? ofPrimary : addresses, diagnostics };
  };
}

/** Unit per Service port that clusters refer to. */
export function deriveEndpoints(
  engine: Engine,
  references: Table<unknown>,
  readEndpoints: ReadEndpoints,
): Table<Endpoints> {
  return engine.derive<Endpoints>('endpoints', references, readEndpoints);
}

interface Lookup extends EndpointsSources {
  readonly slicesByService: Table<ReadonlyMap<Key, true>>;
}

function endpointsOf(
  servicePort: ServicePortKey,
  read: Reader,
  { services, slices, slicesByService, localEndpoints }: Lookup,
  zone: string | undefined,
): Omit<Endpoints, 'name'> {
  const serviceKey = `${servicePort.namespace}/${servicePort.service}`;
  const service = read(services, serviceKey);
  const local = localEndpointsOf(read, localEndpoints, servicePort, service);
  if (local.always !== undefined) return { addresses: distinct(local.always), diagnostics: [] };
  if (servicePort.clusterIp) return { addresses: clusterIpOf(service, servicePort), diagnostics: [] };
  const port = service && servicePortByNumber(service, servicePort.port, servicePort.protocol);
  // What is missing or external is reported at the Ingress that refers to it.
  const reachable = service !== undefined && port !== undefined && service.type !== 'ExternalName';
  const diagnostics: Diagnostic[] = [];
  const ready = reachable
    ? readyAddresses(slicesOf(serviceKey, read, slicesByService, slices), port, nearZone(service, zone), diagnostics)
    : [];
  if (ready.length > 0) return { addresses: distinct(ready), diagnostics };
  const addresses = distinct(local.fallback ?? []);
  if (reachable && addresses.length === 0) diagnostics.push(nothingReady(serviceKey, servicePort.port));
  return { addresses, diagnostics };
}

/** The Service itself, behind which Kubernetes chooses the endpoint. */
function clusterIpOf(service: Service | undefined, { port, protocol }: ServicePortKey): Address[] {
  const ip = canonicalIp(service?.clusterIP ?? '')?.ip;
  const servicePort = service && servicePortByNumber(service, port, protocol);
  return ip === undefined || servicePort === undefined ? [] : [{ ip, port: servicePort.port }];
}

/** What stands in for a Service port on this machine; it may be given by the port's number or by its name. */
export function localEndpointsOf(
  read: Reader,
  localEndpoints: Table<LocalEndpoints>,
  { namespace, service: name, port, protocol }: ServicePortKey,
  service: Service | undefined,
): LocalEndpoints {
  const byPort = read(localEndpoints, `${namespace}/${name}/${port}`);
  const portName = service && servicePortByNumber(service, port, protocol)?.name;
  const byName = portName === undefined ? undefined : read(localEndpoints, `${namespace}/${name}/${portName}`);
  const { always, fallback } = { ...byName, ...byPort };
  // What stands in for all Services speaks HTTP.
  return { ...(always && { always }), ...(fallback && protocol !== 'UDP' && { fallback }) };
}

function slicesOf(
  service: ObjectKey,
  read: Reader,
  slicesByService: Table<ReadonlyMap<Key, true>>,
  slices: Table<EndpointSlice>,
): EndpointSlice[] {
  return [...(read(slicesByService, service)?.keys() ?? [])].toSorted().flatMap((key) => read(slices, key) ?? []);
}

/**
 * The addresses of all slices whose endpoint is ready, whatever it says about serving and terminating, as in ingress-nginx.
 * @param zone only those that are meant for it, unless there are none
 */
function readyAddresses(
  slices: readonly EndpointSlice[],
  servicePort: ServicePort,
  zone: string | undefined,
  diagnostics: Diagnostic[],
): Address[] {
  const ready = slices.map((slice) => ({ ...slice, endpoints: slice.endpoints.filter((endpoint) => endpoint.ready) }));
  return addressesOf(zone === undefined ? ready : endpointsFor(zone, ready), servicePort, diagnostics);
}

function addressesOf(slices: readonly EndpointSlice[], servicePort: ServicePort, diagnostics: Diagnostic[]): Address[] {
  return slices.flatMap((slice) => {
    const ports = portsOf(slice, servicePort);
    return slice.endpoints
      .flatMap(({ addresses }) => addresses)
      .flatMap((text) => canonicalIp(text)?.ip ?? reportAddress(slice, text, diagnostics))
      .flatMap((ip) => ports.map((port) => ({ ip, port })));
  });
}

/**
 * The ports of a slice that belong to a Service port: those of its protocol and name, all of its protocol if it has no name; a
 * numeric target port where no name fits, and in a slice without ports.
 */
function portsOf({ ports }: EndpointSlice, servicePort: ServicePort): number[] {
  const ofProtocol = ports.filter(({ protocol }) => protocol === servicePort.protocol);
  if (ports.length > 0 && ofProtocol.length === 0) return [];
  const named = ofProtocol
    .filter(({ name }) => !servicePort.name || name === servicePort.name)
    .flatMap(({ port }) => port ?? []);
  if (named.length > 0) return named;
  const target = numericTargetPort(servicePort);
  return target === undefined ? [] : [target];
}

function reportAddress(slice: EndpointSlice, text: string, diagnostics: Diagnostic[]): [] {
  const ref = objectRef('EndpointSlice', `${slice.namespace}/${slice.name}`);
  const message = `address ${quote(text)} is no IP address and is left out`;
  diagnostics.push(diagnose(ref, 'warning', 'ObjectInvalid', message, 'endpoints'));
  return [];
}

function nothingReady(service: ObjectKey, port: string): Diagnostic {
  const message = `no endpoint of port ${port} is ready`;
  return diagnose(objectRef('Service', service), 'warning', 'ServiceWithoutEndpoints', message);
}

/** Sorted and without duplicates, so that order and slicing do not matter. */
function distinct(addresses: readonly Address[]): Address[] {
  const byText = new Map(addresses.map((address) => [`${address.ip} ${address.port}`, address]));
  return [...byText.values()].toSorted((a, b) => (a.ip === b.ip ? a.port - b.port : a.ip < b.ip ? -1 : 1));
}
