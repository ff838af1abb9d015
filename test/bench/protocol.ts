/** What the bench and the control plane that it measures tell each other, in processes of their own. */
import type { ObjectKind } from '../../src/cluster/objects.ts';
import type { Manifest } from '../support/manifests.ts';
import type { Pair } from '../support/pki.ts';

/** One way of running the control plane, measured by itself. */
export interface Variant {
  readonly name: string;
  /** As on the command line. */
  readonly flags: readonly string[];
}

export interface StartRequest {
  readonly kind: 'start';
  readonly variant: Variant;
  readonly ingresses: number;
  readonly pairs: readonly Pair[];
  /** PEM of the default certificate. */
  readonly generated: Pair;
  /** Where all endpoints listen. */
  readonly backendPort: number;
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Path of the socket to listen on. */
  readonly xdsSocket: string;
}

export interface ChangeRequest {
  readonly kind: 'change';
  readonly upsert?: readonly Manifest[];
  readonly remove?: readonly { readonly kind: ObjectKind; readonly name: string; readonly namespace: string }[];
}

export type BenchRequest = StartRequest | ChangeRequest | { readonly kind: 'memory' };

/** How long the parts of a start took, in milliseconds. */
export interface StartTimes {
  /** From the start of the process until its modules are loaded. */
  readonly boot: number;
  /** Manifests decoded to objects. */
  readonly decode: number;
  /** The first pass: build, emit, commit. */
  readonly build: number;
}

/** What a change, or the first synchronization, cost until Envoy had accepted everything. */
export interface Cost {
  /** CPU of the control plane, all threads, in milliseconds. */
  readonly cpuMs: number;
  /** From the arrival of the change (of Envoy's stream, for the first) to the last acknowledgement, in milliseconds. */
  readonly ackMs: number;
  /** Of all responses. */
  readonly bytes: number;
  /** Resources sent, removals included. */
  readonly resources: number;
  readonly units: number;
  /** Messages encoded, and route tables put together. */
  readonly encodes: number;
}

export type BenchReply =
  | { readonly kind: 'listening'; readonly times: StartTimes }
  | { readonly kind: 'accepted'; readonly cost: Cost }
  /** `heldBytes`: heap and buffers after a garbage collection, without what an empty control plane holds. */
  | { readonly kind: 'memory'; readonly heldBytes: number }
  | { readonly kind: 'failed'; readonly reason: string };
