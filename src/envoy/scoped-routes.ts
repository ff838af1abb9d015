/**
 * Scoped routes: the connection manager computes the key of a request's host and writes it into a header; scopes (a resource type of
 * their own) lead keys to route tables. So a changed host costs the table of its shard, not the table of all hosts.
 */
import type {
  envoy_config_common_mutation_rules_v3_HeaderMutation as HeaderMutation,
  envoy_config_route_v3_ScopedRouteConfiguration as ScopedRouteConfiguration,
  envoy_extensions_filters_network_http_connection_manager_v3_ScopedRoutes as ScopedRoutes,
} from '../gen/messages.ts';
import { ADS } from './config-source.ts';
import { overwrite } from './headers.ts';
import { type HostKey, parityHashExpression } from './parity-hash.ts';
import type { RouteTableName } from './route-table.ts';

/** Carries the key of a request. Whatever a client sends under this name is overwritten, and no backend sees it. */
export const SHARD_HEADER = 'x-ingress-xds-shard';

/** All listeners share one set of scopes, so keys carry the name of the table. */
export function scopeKey(table: RouteTableName, key: HostKey): string {
  return `${table}-${key}`;
}

/** A mutation whose value cannot be computed leaves the header as it was, so that it gets a constant first. */
export function shardMutations(table: RouteTableName): readonly HeaderMutation[] {
  return [
    { append: overwrite(SHARD_HEADER, scopeKey(table, 0)) },
    { append: overwrite(SHARD_HEADER, `${table}-%CEL(${parityHashExpression()})%`) },
  ];
}

/** For the connection manager, instead of the name of a route table. Equal for all but the name, so that Envoy keeps one set of scopes. */
export function scopedRoutes(table: RouteTableName): ScopedRoutes {
  return {
    name: table,
    scope_key_builder: { fragments: [{ header_value_extractor: { name: SHARD_HEADER, index: 0 } }] },
    rds_config_source: ADS,
    scoped_rds: { scoped_rds_config_source: ADS },
  };
}

/** Leads requests with this key to a route table. The scope is called like its key. */
export function scopeMessage(key: string, routeTable: string): ScopedRouteConfiguration {
  return { name: key, route_configuration_name: routeTable, key: { fragments: [{ string_key: key }] } };
}
