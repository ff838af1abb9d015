import type { Engine, Key, Table } from '../derive.ts';
import type { envoy_config_route_v3_RouteConfiguration as RouteConfiguration } from '../gen/messages.ts';
import type { HostName } from '../model/proxy-model.ts';
import { encode } from './codec.ts';
import type { Encoder } from './encoder.ts';
import type { Frame } from './frame.ts';
import { type FrameEntry, FrameSet, type FrameSetSnapshot } from './frame-set.ts';
import {
  REQUEST_HEADERS,
  REQUEST_HEADERS_TO_REMOVE,
  RESPONSE_HEADERS_TO_REMOVE,
  STRICT_TRANSPORT_SECURITY,
} from './headers.ts';
import { contentVersion, type EncodedResource, sameVersion } from './resource.ts';

export const routeTableNames = ['http', 'https'] as const;
export type RouteTableName = (typeof routeTableNames)[number];

/** A table without its hosts. What is the same for all of them stands here. */
export function routeTableMessage(name: RouteTableName): RouteConfiguration {
  return {
    name,
    ...(name === 'https' ? { response_headers_to_add: [STRICT_TRANSPORT_SECURITY] } : {}),
    response_headers_to_remove: RESPONSE_HEADERS_TO_REMOVE,
    request_headers_to_add: REQUEST_HEADERS,
    request_headers_to_remove: REQUEST_HEADERS_TO_REMOVE,
    // What a route says about a header counts more than what stands here.
    most_specific_header_mutations_wins: true,
    // Backends see the port that a client wrote, as with nginx; it only does not matter for the choice of the host.
    ignore_port_in_host_matching: true,
  };
}

const MESSAGE = 'envoy.config.route.v3.RouteConfiguration';

export interface RouteTableContext {
  readonly encoder: Encoder;
  /** Keys of the Ingresses behind the hosts that are asked for. */
  readonly origin: (isWanted: (host: HostName) => boolean) => readonly string[];
}

/** A RouteConfiguration called `name` that holds the hosts of all `parts`. They are joined when somebody asks for the bytes. */
export type RouteTableResource = (
  name: string,
  parts: readonly FrameSetSnapshot[],
  isInside: (host: HostName) => boolean,
) => EncodedResource;

/** @param headersToRemove further ones that no backend sees. */
export function createRouteTableResource(
  table: RouteTableName,
  { encoder, origin }: RouteTableContext,
  headersToRemove: readonly string[] = [],
): RouteTableResource {
  const { name: _, ...rest } = routeTableMessage(table);
  const tail = encode(MESSAGE, {
    ...rest,
    request_headers_to_remove: [...REQUEST_HEADERS_TO_REMOVE, ...headersToRemove],
  });
  return (name, parts, isInside) => {
    const head = encode(MESSAGE, { name });
    const join = () => {
      encoder.count('RouteConfiguration');
      return Buffer.concat([head, ...parts.flatMap((part) => part.sorted()), tail]);
    };
    const version = contentVersion(head, tail, parts.map(({ hash }) => hash).join(' '));
    return { name, version, bytes: once(join), origin: () => origin(isInside) };
  };
}

/** Groups of frames. A changed host costs its own hash; sorting waits until somebody asks. */
export function reduceFrames<R>(
  engine: Engine,
  name: string,
  frames: Table<Frame>,
  reduction: {
    readonly group: (host: HostName) => Key;
    readonly view: (snapshot: FrameSetSnapshot) => R;
    readonly equal: (before: R, now: R) => boolean;
    readonly always?: readonly Key[];
  },
): Table<R> {
  const { group, view, equal, always = [] } = reduction;
  return engine.reduce<Frame, FrameEntry, FrameSet, R>(name, frames, {
    spread: (host, { version, bytes }) => [[group(host), { version, bytes }]],
    init: () => new FrameSet(),
    add: (set, host, entry) => set.add(host, entry),
    remove: (set, host, entry) => set.remove(host, entry),
    empty: (set) => set.size === 0,
    view: (set) => view(set.snapshot()),
    equal,
    always,
  });
}

/** The RouteConfiguration with all `frames`, as a table with one key, `name`. */
export function createRouteTable(
  engine: Engine,
  name: RouteTableName,
  frames: Table<Frame>,
  context: RouteTableContext,
): Table<EncodedResource> {
  const resource = createRouteTableResource(name, context);
  return reduceFrames(engine, `${name}-routes`, frames, {
    group: () => name,
    view: (snapshot) => resource(name, [snapshot], () => true),
    equal: sameVersion,
    always: [name],
  });
}

function once<T>(compute: () => T): () => T {
  let result: T | undefined;
  return () => {
    result ??= compute();
    return result;
  };
}
