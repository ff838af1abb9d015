import type { Engine, Key, Table } from '../derive.ts';
import type { envoy_config_route_v3_RouteConfiguration as RouteConfiguration } from '../gen/messages.ts';
import type { HostName } from '../model/proxy-model.ts';
import { DEFAULT_SETTINGS, type ProxySettings, SETTINGS } from '../model/settings.ts';
import { deriveResource, existing } from './emit-resource.ts';
import type { Encoder } from './encoder.ts';
import { refusalHeaders } from './filters/refusal-headers.ts';
import { type Frame, namedHost } from './frame.ts';
import { type FrameEntry, FrameSet, type FrameSetSnapshot } from './frame-set.ts';
import { blockClients } from './policies/blocked.ts';
import { contentVersion, type EncodedResource } from './resource.ts';
import { tableHeaders } from './table-headers.ts';

export const routeTableNames = ['http', 'https'] as const;
export type RouteTableName = (typeof routeTableNames)[number];

/** A table without its hosts. What is the same for all of them stands here. */
export function routeTableMessage(
  name: RouteTableName,
  settings: ProxySettings = DEFAULT_SETTINGS,
): RouteConfiguration {
  const filters = { ...blockClients(settings.blocked), ...refusalHeaders(settings.headers) };
  return {
    name,
    ...tableHeaders(settings, name === 'https'),
    // Backends see the port that a client wrote, as with nginx; it only does not matter for the choice of the host.
    ignore_port_in_host_matching: true,
    ...(Object.keys(filters).length > 0 && { typed_per_filter_config: filters }),
  };
}

const MESSAGE = 'envoy.config.route.v3.RouteConfiguration';

export interface RouteTableContext {
  readonly encoder: Encoder;
  readonly settings: Table<ProxySettings>;
  /** Keys of the Ingresses behind the hosts that are asked for. */
  readonly origin: (isWanted: (host: HostName) => boolean) => readonly string[];
}

/** What stands behind the hosts of every table of a kind, encoded, under the key `SETTINGS`: it follows the settings. */
export function deriveTail(
  engine: Engine,
  table: RouteTableName,
  { settings, encoder }: RouteTableContext,
  headersToRemove: readonly string[] = [],
): Table<Uint8Array> {
  return engine.derive<Uint8Array>(`${table}-tail`, settings, (key, read) => {
    const { name: _, ...rest } = routeTableMessage(table, existing(read, settings, key));
    const { request_headers_to_remove = [] } = rest;
    return encoder.encodePart(MESSAGE, {
      ...rest,
      request_headers_to_remove: [...request_headers_to_remove, ...headersToRemove],
    });
  });
}

/** What a RouteConfiguration is made of. */
export interface RouteTableParts {
  readonly name: string;
  /** The hosts of all of these. */
  readonly hosts: readonly FrameSetSnapshot[];
  readonly tail: Uint8Array;
  readonly isInside: (host: HostName) => boolean;
}

/** The hosts are joined when somebody asks for the bytes. */
export function routeTableResource(
  { name, hosts, tail, isInside }: RouteTableParts,
  { encoder, origin }: RouteTableContext,
): EncodedResource {
  const head = encoder.encodePart(MESSAGE, { name });
  const join = () => {
    encoder.count('RouteConfiguration');
    return Buffer.concat([head, ...framesOf(hosts, encoder), tail]);
  };
  const version = contentVersion(head, tail, hosts.map(({ hash }) => hash).join(' '));
  return { name, version, bytes: once(join), origin: () => origin(isInside) };
}

/** Hosts of several names come last; one whose names are in several of the sets is one host. */
function framesOf(sets: readonly FrameSetSnapshot[], encoder: Encoder): Uint8Array[] {
  const frames: Uint8Array[] = [];
  const named = new Map<HostName, { names: readonly HostName[]; bytes: Uint8Array }>();
  for (const [host, { names, bytes }] of sets.flatMap((set) => set.sorted())) {
    if (names === undefined) frames.push(bytes);
    else named.set(host, { names: [...(named.get(host)?.names ?? []), ...names], bytes });
  }
  for (const [host, { names, bytes }] of named)
    frames.push(namedHost(encoder, host, { names: names.toSorted(), bytes }));
  return frames;
}

/** Groups of frames. A host of several names is in the group of each, with the names that belong to it. A changed host costs its own hash; sorting waits until somebody asks. */
export function reduceFrames(
  engine: Engine,
  name: string,
  frames: Table<Frame>,
  { group, always = [] }: { readonly group: (host: HostName) => Key; readonly always?: readonly Key[] },
): Table<FrameSetSnapshot> {
  return engine.reduce<Frame, FrameEntry, FrameSet, FrameSetSnapshot>(name, frames, {
    spread: (host, { version, bytes, names }) =>
      names === undefined ? [[group(host), { version, bytes }]] : namesByGroup({ bytes, names }, group),
    init: () => new FrameSet(),
    add: (set, host, entry) => set.add(host, entry),
    remove: (set, host, entry) => set.remove(host, entry),
    empty: (set) => set.size === 0,
    view: (set) => set.snapshot(),
    equal: (before, now) => before.hash === now.hash,
    always,
  });
}

function namesByGroup(
  { bytes, names }: Required<Pick<Frame, 'bytes' | 'names'>>,
  group: (host: HostName) => Key,
): (readonly [Key, FrameEntry])[] {
  const version = contentVersion(bytes);
  return [...Map.groupBy(names, group)].map(([key, inside]) => [
    key,
    { version: contentVersion(version, inside.join(' ')), bytes, names: inside },
  ]);
}

/** The RouteConfiguration with all `frames`, as a table with one key, `name`. */
export function createRouteTable(
  engine: Engine,
  name: RouteTableName,
  frames: Table<Frame>,
  context: RouteTableContext,
): Table<EncodedResource> {
  const tails = deriveTail(engine, name, context);
  const hosts = reduceFrames(engine, `${name}-hosts`, frames, { group: () => name, always: [name] });
  return deriveResource(engine, `${name}-routes`, hosts, (_, read) => {
    const parts = {
      name,
      hosts: [existing(read, hosts, name)],
      tail: existing(read, tails, SETTINGS),
      isInside: () => true,
    };
    return routeTableResource(parts, context);
  });
}

function once<T>(compute: () => T): () => T {
  let result: T | undefined;
  return () => {
    result ??= compute();
    return result;
  };
}
