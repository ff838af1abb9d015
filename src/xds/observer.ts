/** Everything that the xDS server tells about itself: one stream of events, for metrics, logs, status and tests. */
import type { ClientNode } from './wire.ts';

/** Called synchronously, in the order of events. Must not throw and must not call back into the server. */
export type XdsObserver = (event: XdsEvent) => void;

/** Number of a stream, unique within the process. */
export type StreamId = number;

/** gRPC status of a stream that this side ended. */
export interface StreamStatus {
  readonly code: number;
  readonly message: string;
}

/** What a stream is and where it stands, for people. */
export interface StreamDescription {
  readonly id: StreamId;
  readonly variant: 'delta' | 'state-of-the-world';
  /** Absent until the first request. */
  readonly node?: ClientNode;
  /** Name in its certificate; absent where nobody had to prove who it is. */
  readonly client?: string;
  /** As in `AdsStream`. */
  readonly programmedSeq: number;
  /** Those that were asked for, in the order in which they are sent. */
  readonly types: readonly {
    readonly typeUrl: string;
    /** Number of names that are asked for; a wildcard counts as none. */
    readonly names: number;
    readonly awaitsReply: boolean;
    /** Whether there is more to send. */
    readonly pending: boolean;
    /** Why the client rejected the last response, in its own words. */
    readonly rejection?: string;
  }[];
}

/** A resource of a rejected response, with what made it. */
export interface RejectedResource {
  readonly name: string;
  readonly version: string;
  /** Keys of Ingresses; empty when the resource has left the snapshot or changed since. */
  readonly origin: readonly string[];
}

export type XdsEvent =
  /** The bytes of a resource were asked for; once per version, however many streams there are. */
  | { readonly kind: 'encoded'; readonly typeUrl: string; readonly name: string; readonly bytes: number }
  /** A connection was refused before it could open a stream. `address` is without a port. */
  | { readonly kind: 'refused'; readonly address: string; readonly reason: string }
  | { readonly kind: 'opened'; readonly stream: StreamId; readonly peer: string }
  /** The first request has arrived. */
  | { readonly kind: 'identified'; readonly stream: StreamId; readonly node: ClientNode | undefined }
  /** Without a status when the client went away. */
  | { readonly kind: 'closed'; readonly stream: StreamId; readonly status: StreamStatus | undefined }
  | {
      readonly kind: 'response';
      readonly stream: StreamId;
      readonly typeUrl: string;
      readonly nonce: string;
      readonly names: readonly string[];
      readonly removed: readonly string[];
      readonly bytes: number;
      /** Sent although an earlier response of the type was not acknowledged. */
      readonly superseding: boolean;
    }
  | {
      readonly kind: 'ack';
      readonly stream: StreamId;
      readonly typeUrl: string;
      readonly nonce: string;
      readonly latencyMs: number;
    }
  | {
      readonly kind: 'nack';
      readonly stream: StreamId;
      readonly typeUrl: string;
      readonly nonce: string;
      readonly code: number;
      readonly message: string;
      /** Those that the client named; where it named none, all of the response. */
      readonly resources: readonly RejectedResource[];
      /** Whether they are sent again in parts, to find out which of them is to blame; then those parts are told of too. */
      readonly divided: boolean;
      readonly latencyMs: number;
    }
  /** Routes were sent although clusters sent before were not acknowledged in time. */
  | { readonly kind: 'gateTimeout'; readonly stream: StreamId; readonly typeUrl: string }
  /** The stream asked for a type that may not go over its transport; to it no resource of this type exists. */
  | { readonly kind: 'withheld'; readonly stream: StreamId; readonly typeUrl: string }
  /** The stream asked for a secret of a namespace that its client may not have, for the first time; to it the secret does not exist. */
  | {
      readonly kind: 'withheldNamespace';
      readonly stream: StreamId;
      readonly client: string;
      /** Absent for a secret that belongs to no namespace. */
      readonly namespace?: string;
    }
  /** Everything up to this commit was accepted by the stream, for every type it asked for, but for what it rejected. */
  | { readonly kind: 'programmed'; readonly stream: StreamId; readonly seq: number };

export interface XdsCounters {
  encodes: number;
  streams: number;
  responses: number;
  resources: number;
  removals: number;
  bytes: number;
  acks: number;
  nacks: number;
  gateTimeouts: number;
}

/** Totals of what was observed; `streams` is the number of those that are open. */
export function createXdsCounters(): { readonly counters: XdsCounters; readonly observe: XdsObserver } {
  const counters: XdsCounters = {
    encodes: 0,
    streams: 0,
    responses: 0,
    resources: 0,
    removals: 0,
    bytes: 0,
    acks: 0,
    nacks: 0,
    gateTimeouts: 0,
  };
  return { counters, observe: (event) => count(counters, event) };
}

function count(counters: XdsCounters, event: XdsEvent): void {
  if (event.kind === 'encoded') counters.encodes++;
  else if (event.kind === 'opened') counters.streams++;
  else if (event.kind === 'closed') counters.streams--;
  else if (event.kind === 'ack') counters.acks++;
  else if (event.kind === 'nack') counters.nacks++;
  else if (event.kind === 'gateTimeout') counters.gateTimeouts++;
  else if (event.kind === 'response') {
    counters.responses++;
    counters.resources += event.names.length;
    counters.removals += event.removed.length;
    counters.bytes += event.bytes;
  }
}
