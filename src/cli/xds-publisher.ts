import type { Publisher } from '../controller.ts';
import type { Pass } from '../derive.ts';
import type { Emitter } from '../envoy/emit.ts';
import type { ResourceChange } from '../xds/resource.ts';
import type { SnapshotStore } from '../xds/store.ts';

/** Envoy resources, committed to the store that every stream serves from. */
export function createXdsPublisher(emitter: Emitter, store: SnapshotStore): Publisher {
  return {
    diagnosticTables: emitter.diagnosticTables,
    *publish(pass) {
      const changes = resourceChanges(emitter, pass);
      yield;
      return store.commit(changes);
    },
  };
}

/**
 * What the pass changed of the resources. A resource whose unit failed keeps its last good version; when the unit recovers by
 * having no value any more, nothing has changed for the engine, but the kept version has to go.
 */
function resourceChanges(emitter: Emitter, pass: Pass): ResourceChange[] {
  const failed = new Set(pass.failures.map(({ table, key }) => `${table} ${key}`));
  const changes: ResourceChange[] = [];
  for (const { typeUrl, table } of emitter.resources) {
    for (const [name, resource] of pass.of(table)) {
      if (resource === undefined && failed.has(`${table.name} ${name}`)) continue;
      changes.push({ typeUrl, name, resource });
    }
    for (const { table: recovered, key: name } of pass.recovered) {
      if (recovered === table.name && table.get(name) === undefined)
        changes.push({ typeUrl, name, resource: undefined });
    }
  }
  return changes;
}
