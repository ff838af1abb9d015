/** From which commit on an Ingress is in force on every proxy of this replica. Pure: what it hears are passes and xDS events. */
import type { ObjectKey } from '../model/object-ref.ts';
import type { StreamId, XdsEvent } from '../xds/observer.ts';

export interface ProgrammedTracker {
  /**
   * These Ingresses came or changed in the pass that made commit `seq`; for a pass without a commit, the number of the latest one.
   * Numbers never fall.
   */
  passed(keys: Iterable<ObjectKey>, seq: number): void;
  /** The Ingress is gone, or not served any more. */
  removed(key: ObjectKey): void;
  observe(event: XdsEvent): void;
  /** Stays true whatever streams come later; false again only after `removed`. */
  programmed(key: ObjectKey): boolean;
}

/**
 * An Ingress is programmed when there is at least one stream whose proxy has said who it is, and all of those have reached its
 * commit and rejected nothing of it. `onChange` is called for every change of an Ingress that came that far, with all that did at one moment.
 */
export function createProgrammedTracker(onChange: (keys: readonly ObjectKey[]) => void): ProgrammedTracker {
  const streams = new Map<StreamId, number>();
  /** How many streams stand at a commit; streams differ in a few commits at most. */
  const streamsAt = new Map<number, number>();
  /** By commit, ascending: what waits for it. */
  const waiting = new Map<number, Set<ObjectKey>>();
  const waitsFor = new Map<ObjectKey, number>();
  const programmed = new Set<ObjectKey>();
  /** The commit that all streams have reached; -1 without a stream. */
  let reached = -1;

  function place(stream: StreamId, seq: number | undefined): void {
    const before = streams.get(stream);
    if (before !== undefined) {
      const others = (streamsAt.get(before) ?? 1) - 1;
      if (others > 0) streamsAt.set(before, others);
      else streamsAt.delete(before);
    }
    if (seq === undefined) streams.delete(stream);
    else {
      streams.set(stream, seq);
      streamsAt.set(seq, (streamsAt.get(seq) ?? 0) + 1);
    }
    reached = streams.size === 0 ? -1 : Math.min(...streamsAt.keys());
    release();
  }

  function release(): void {
    const keys: ObjectKey[] = [];
    for (const [seq, concerned] of waiting) {
      if (seq > reached) break;
      waiting.delete(seq);
      for (const key of concerned) {
        waitsFor.delete(key);
        programmed.add(key);
        keys.push(key);
      }
    }
    if (keys.length > 0) onChange(keys);
  }

  function forget(key: ObjectKey): void {
    const seq = waitsFor.get(key);
    if (seq === undefined) return;
    waitsFor.delete(key);
    const concerned = waiting.get(seq);
    concerned?.delete(key);
    if (concerned?.size === 0) waiting.delete(seq);
  }

  return {
    passed(keys, seq) {
      for (const key of keys) {
        forget(key);
        waitsFor.set(key, seq);
        const concerned = waiting.get(seq);
        if (concerned === undefined) waiting.set(seq, new Set([key]));
        else concerned.add(key);
      }
      release();
    },
    removed(key) {
      forget(key);
      programmed.delete(key);
    },
    observe(event) {
      // A connection that asks for nothing is no proxy, and must not delay anybody's address.
      if (event.kind === 'identified') place(event.stream, 0);
      else if (event.kind === 'programmed') place(event.stream, event.seq);
      // What a proxy rejects is waited for no longer, and not in force: its Ingresses stay as they are until they change.
      else if (event.kind === 'nack' && !event.divided)
        for (const { origin } of event.resources) origin.forEach(forget);
      else if (event.kind === 'closed' && streams.has(event.stream)) place(event.stream, undefined);
    },
    programmed: (key) => programmed.has(key),
  };
}
