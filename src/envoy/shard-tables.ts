/** The route tables of the shards, and the scopes that lead to them: units for `--route-sharding`. */
import { deepEqual, type Engine, type Key, type Table } from '../derive.ts';
import type { HostName } from '../model/proxy-model.ts';
import { SETTINGS } from '../model/settings.ts';
import { existing } from './emit-resource.ts';
import type { Frame } from './frame.ts';
import { type EncodedResource, encodedResource, sameVersion } from './resource.ts';
import {
  deriveTail,
  type RouteTableContext,
  type RouteTableName,
  reduceFrames,
  routeTableResource,
} from './route-table.ts';
import { SHARD_HEADER, scopeKey, scopeMessage } from './scoped-routes.ts';
import { EVERYWHERE, isInShard, keysOf, type Shard, shardGroup, shardName } from './shard.ts';

export interface ShardedTable {
  /** Keyed by the names of the tables: `https/64-127`. */
  readonly routes: Table<EncodedResource>;
  /** Keyed by the names of the scopes: `https-17`, and one called like each table. */
  readonly scopes: Table<EncodedResource>;
}

/** @param layout the shards, from `deriveShards`. */
export function createShardedTable(
  engine: Engine,
  table: RouteTableName,
  { frames, layout }: { readonly frames: Table<Frame>; readonly layout: Table<readonly Shard[]> },
  context: RouteTableContext,
): ShardedTable {
  const shards = spreadOut(engine, `${table}-shard`, layout, (all) =>
    all.map((shard) => [shardName(table, shard), shard]),
  );
  const targets = spreadOut(engine, `${table}-scope-target`, layout, (all) =>
    all.flatMap((shard) => scopesOf(table, shard)),
  );
  return {
    routes: deriveRoutes(engine, table, { frames, shards }, context),
    scopes: deriveScopes(engine, table, targets, context),
  };
}

function deriveRoutes(
  engine: Engine,
  table: RouteTableName,
  { frames, shards }: { readonly frames: Table<Frame>; readonly shards: Table<Shard> },
  context: RouteTableContext,
): Table<EncodedResource> {
  const tails = deriveTail(engine, table, context, [SHARD_HEADER]);
  const groups = reduceFrames(engine, `${table}-shard-frames`, frames, { group: shardGroup });
  return engine.derive(
    `${table}-routes`,
    shards,
    (name, read) => {
      const shard = read(shards, name);
      if (shard === undefined) return undefined;
      const hosts = [...keysOf(shard).map(String), EVERYWHERE].flatMap((group) => read(groups, group) ?? []);
      const isInside = (host: HostName) => isInShard(host, shard);
      return routeTableResource({ name, hosts, tail: existing(read, tails, SETTINGS), isInside }, context);
    },
    sameVersion,
  );
}

/**
 * A scope for every key, since a request whose key has none would be answered 404. And a scope for the table itself, under a key that
 * no request carries: Envoy asks for a table only when a scope names it, and answers 404 until it has it. Through this one it has the
 * table before keys lead there.
 * @returns key of the scope, which is its name too → name of the table.
 */
function scopesOf(table: RouteTableName, shard: Shard): (readonly [scope: string, routeTable: string])[] {
  const routeTable = shardName(table, shard);
  return [...keysOf(shard).map((key) => scopeKey(table, key)), routeTable].map((scope) => [scope, routeTable]);
}

function deriveScopes(
  engine: Engine,
  table: RouteTableName,
  targets: Table<string>,
  { encoder }: RouteTableContext,
): Table<EncodedResource> {
  return engine.derive(
    `${table}-scopes`,
    targets,
    (scope, read) => {
      const routes = read(targets, scope);
      if (routes === undefined) return undefined;
      const message = scopeMessage(scope, routes);
      const bytes = encoder.encode('envoy.config.route.v3.ScopedRouteConfiguration', message, scope);
      return encodedResource(scope, bytes, { routes });
    },
    sameVersion,
  );
}

/** A table with the entries that the values of another one consist of; no two of those have the same key. */
function spreadOut<V, I>(
  engine: Engine,
  name: string,
  from: Table<V>,
  entries: (value: V) => Iterable<readonly [Key, I]>,
): Table<I> {
  return engine.reduce<V, I, { current: I | undefined }, I>(name, from, {
    spread: (_, value) => entries(value),
    init: () => ({ current: undefined }),
    add: (entry, _, item) => {
      entry.current = item;
    },
    remove: (entry) => {
      entry.current = undefined;
    },
    empty: ({ current }) => current === undefined,
    view: ({ current }) => current!,
    equal: deepEqual,
  });
}
