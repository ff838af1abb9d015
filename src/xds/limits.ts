/** How long streams wait and how much they send at once. */

/** Times in milliseconds. */
export interface StreamLimits {
  /** A response is closed before the resource that would make it larger; a single larger resource still goes. */
  readonly maxResponseBytes: number;
  /** How long routes wait for the ACK of clusters sent before them, and how long a response of clusters waits for the former. */
  readonly gateMs: number;
  /** The same for routes and listeners during the first sync of a stream, which takes seconds with thousands of clusters. */
  readonly firstSyncGateMs: number;
  /** A client that does not read for so long is dropped. */
  readonly writeStallMs: number;
}

export const defaultStreamLimits: StreamLimits = {
  maxResponseBytes: 512 * 1024,
  gateMs: 1000,
  firstSyncGateMs: 60_000,
  writeStallMs: 60_000,
};
