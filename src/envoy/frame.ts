import { deepEqual } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { encode } from './codec.ts';
import type { Encoder } from './encoder.ts';
import type { HostView } from './http-view.ts';
import { contentVersion, sameVersion } from './resource.ts';
import { checkHost } from './validate.ts';

/** A host of a route table, encoded. */
export interface Frame {
  readonly version: string;
  /** The host as a field of its RouteConfiguration, so that tables are frames one after another. */
  readonly bytes: Uint8Array;
  readonly diagnostics: readonly Diagnostic[];
}

/** @throws Error for a host whose name no request can carry. */
export function encodeFrame(encoder: Encoder, view: HostView): Frame {
  const { message, diagnostics } = checkHost(view);
  encoder.count('VirtualHost');
  const bytes = encode('envoy.config.route.v3.RouteConfiguration', { virtual_hosts: [message] });
  return { version: contentVersion(bytes), bytes, diagnostics };
}

export function sameFrame(a: Frame, b: Frame): boolean {
  return sameVersion(a, b) && deepEqual(a.diagnostics, b.diagnostics);
}
