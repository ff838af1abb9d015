import { deepEqual } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { HostName } from '../model/proxy-model.ts';
import type { Encoder } from './encoder.ts';
import type { HostView } from './http-view.ts';
import { contentVersion, sameVersion } from './resource.ts';
import { checkHost } from './validate.ts';

/** A host of a route table, encoded. */
export interface Frame {
  readonly version: string;
  /**
   * The host as a field of its RouteConfiguration, so that tables are frames one after another. Where it has several names: what
   * its VirtualHost says behind its names, see `namedHost`.
   */
  readonly bytes: Uint8Array;
  /** Sorted; absent where the host has one name. */
  readonly names?: readonly HostName[];
  readonly diagnostics: readonly Diagnostic[];
}

const TABLE = 'envoy.config.route.v3.RouteConfiguration';
const HOST = 'envoy.config.route.v3.VirtualHost';

/** @throws Error for a host whose name no request can carry. */
export function encodeFrame(encoder: Encoder, view: HostView): Frame {
  const { message, diagnostics } = checkHost(view);
  encoder.count('VirtualHost');
  if (view.aliases !== undefined) {
    const { name: _, domains = [], ...others } = message;
    const names = domains.toSorted();
    const bytes = encoder.encodePart(HOST, others);
    return { version: contentVersion(bytes, names.join(' ')), bytes, names, diagnostics };
  }
  const bytes = encoder.encodePart(TABLE, { virtual_hosts: [message] });
  return { version: contentVersion(bytes), bytes, diagnostics };
}

/**
 * The field of a RouteConfiguration for a host of several names, or for those of them that stand in a table: what is behind the names
 * is the same in each.
 */
export function namedHost(
  encoder: Encoder,
  host: HostName,
  { names, bytes }: { readonly names: readonly HostName[]; readonly bytes: Uint8Array },
): Uint8Array {
  return encoder.encodeField(TABLE, 'virtual_hosts', encoder.encodePart(HOST, { name: host, domains: names }), bytes);
}

export function sameFrame(a: Frame, b: Frame): boolean {
  return sameVersion(a, b) && deepEqual(a.diagnostics, b.diagnostics);
}
