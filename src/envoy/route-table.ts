import type { Engine, Table } from '../derive.ts';
import type { envoy_config_route_v3_RouteConfiguration as RouteConfiguration } from '../gen/messages.ts';
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

export type RouteTableName = 'http' | 'https';

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

/**
 * The RouteConfiguration with all `frames`, as a table with one key, `name`. A changed host costs its own hash; sorting and joining
 * waits until somebody asks for the bytes.
 */
export function createRouteTable(
  engine: Engine,
  name: RouteTableName,
  frames: Table<Frame>,
  context: { readonly encoder: Encoder; readonly origin: () => readonly string[] },
): Table<EncodedResource> {
  const { name: _, ...rest } = routeTableMessage(name);
  const head = encode(MESSAGE, { name });
  const tail = encode(MESSAGE, rest);
  const join = (snapshot: FrameSetSnapshot) => {
    context.encoder.count('RouteConfiguration');
    return Buffer.concat([head, ...snapshot.sorted(), tail]);
  };
  return engine.reduce<Frame, FrameEntry, FrameSet, EncodedResource>(`${name}-routes`, frames, {
    spread: (_host, { version, bytes }) => [[name, { version, bytes }]],
    init: () => new FrameSet(),
    add: (set, host, entry) => set.add(host, entry),
    remove: (set, host, entry) => set.remove(host, entry),
    empty: (set) => set.size === 0,
    view: (set) => {
      const snapshot = set.snapshot();
      const version = contentVersion(head, tail, snapshot.hash);
      return { name, version, bytes: once(() => join(snapshot)), origin: context.origin };
    },
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
