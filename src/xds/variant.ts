/** The two variants of the protocol: what differs between them, and nothing else does. */
import { allowsLegacyWildcard, isFullState } from './send-order.ts';
import { SotwSubscription } from './sotw-subscription.ts';
import type { TypeSnapshot } from './store.ts';
import { DeltaSubscription, type Subscription } from './subscription.ts';
import {
  type DiscoveryRequest,
  type DiscoveryResponse,
  decodeDeltaRequest,
  decodeSotwRequest,
  encodeDeltaResponse,
  encodeSotwResponse,
} from './wire.ts';

export interface Variant {
  readonly name: 'delta' | 'state-of-the-world';
  /**
   * Throws on bytes that are no request.
   * @param withNode whether to read the node.
   */
  decode(bytes: Uint8Array, withNode: boolean): DiscoveryRequest;
  encode(response: DiscoveryResponse): Uint8Array;
  createSubscription(typeUrl: string, snapshot: TypeSnapshot): Subscription;
  /** Whether a request that answers anything but the last response is too old to say what the client wants. */
  readonly staleRequestsAreVoid: boolean;
}

export const deltaVariant: Variant = {
  name: 'delta',
  decode: decodeDeltaRequest,
  encode: encodeDeltaResponse,
  createSubscription: (typeUrl, snapshot) => new DeltaSubscription(snapshot, allowsLegacyWildcard(typeUrl)),
  staleRequestsAreVoid: false,
};

export const sotwVariant: Variant = {
  name: 'state-of-the-world',
  decode: decodeSotwRequest,
  encode: encodeSotwResponse,
  createSubscription: (typeUrl, snapshot) =>
    new SotwSubscription(snapshot, { full: isFullState(typeUrl), legacyWildcard: allowsLegacyWildcard(typeUrl) }),
  staleRequestsAreVoid: true,
};
