/** What the units that emit resources have in common. */
import type { Engine, Key, Reader, Table } from '../derive.ts';
import { type EncodedResource, sameVersion } from './resource.ts';

type ComputeResource = (name: Key, read: Reader) => EncodedResource;

/** A unit per key that makes one resource; equal bytes stop there. */
export function deriveResource(engine: Engine, name: string, keys: Table<unknown>, compute: ComputeResource) {
  return engine.derive(name, keys, compute, sameVersion);
}

/** The value that a unit is there for. */
export function existing<V>(read: Reader, table: Table<V>, key: Key): V {
  const value = read(table, key);
  if (value === undefined) throw new Error(`${table.name} ${key} is absent`);
  return value;
}
