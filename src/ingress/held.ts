import type { Engine, Table } from '../derive.ts';
import { type ObjectRef, objectRef } from '../model/object-ref.ts';

const HELD = 'held';

/**
 * The objects of which a version of the past is served, since the newest is refused or broken; the Diagnostics of each say why.
 * `tables` are keyed by object, by kind. Costs what is held, not what exists.
 */
export function deriveHeld(
  engine: Engine,
  tables: Readonly<Record<string, Table<{ readonly state: string }>>>,
): () => ObjectRef[] {
  const groups = Object.entries(tables).map(([kind, table]) => {
    const spread = (_: string, { state }: { readonly state: string }): [string, true][] =>
      state === HELD ? [[HELD, true]] : [];
    return { kind, group: engine.group(`held-${table.name}`, table, spread, [HELD]) };
  });
  return () =>
    groups.flatMap(({ kind, group }) =>
      [...(group.get(HELD)?.keys() ?? [])].toSorted().map((key) => objectRef(kind, key)),
    );
}
