/** What one reflector reads: all objects of a kind, those of a namespace, or one. */
import type { ObjectRef } from '../model/object-ref.ts';
import type { WatchedKind } from './kinds.ts';

export interface Feed {
  readonly kind: WatchedKind;
  readonly namespace?: string;
  /** Only this object. */
  readonly name?: string;
  /** Only the EndpointSlices of this Service. */
  readonly service?: string;
  /** For as long as a ConfigMap refers to its object; everything else is served also if it may not be read. */
  readonly isFollowed?: true;
}

/** Whether it is the feed of this object alone. */
export function isFeedOf({ kind, namespace, name }: Feed, ref: ObjectRef): boolean {
  return kind === ref.kind && namespace === ref.namespace && name === ref.name;
}

/** Whether it brings this object, if that is of its kind. */
export function covers(feed: Feed, ref: ObjectRef): boolean {
  if (feed.name !== undefined) return feed.name === ref.name && feed.namespace === ref.namespace;
  return feed.namespace === undefined || feed.namespace === ref.namespace;
}
