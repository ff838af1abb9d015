/** How the hosts of a route table are divided into shards. A pure function of the set of hosts, so that all replicas agree. */
import { deepEqual, type Engine, type Table } from '../derive.ts';
import { DEFAULT_HOST, type HostName, type VirtualHost } from '../model/proxy-model.ts';
import { type HostKey, hostKey, KEYS } from './parity-hash.ts';
import { isWildcard } from './server-name-matcher.ts';

/** The keys from `first` to `last`, both included. Its hosts depend on nothing but the range: see `shardName`. */
export interface Shard {
  readonly first: HostKey;
  readonly last: HostKey;
}

/** How many hosts stand under each key, and how many stand in every shard. */
export interface HostCounts {
  readonly byKey: readonly number[];
  readonly everywhere: number;
}

/** Most hosts of a shard; a change to one of them sends all of them, at about 40 µs of Envoy's main thread each. */
const CAPACITY = 128;

/**
 * Shards in the order of their keys, covering all of them. A range with too many hosts is halved, and so are its halves.
 *
 * A host that comes or goes at the edge therefore divides or joins one range, not all of them; that costs as much as a change to a
 * default host of a table of that size. What stands in every shard would be multiplied by their number: shards are larger where there
 * is much of it, so that all shards together hold at most about three times what one table would.
 */
export function shardsOf({ byKey, everywhere }: HostCounts): readonly Shard[] {
  const capacity = Math.max(CAPACITY, powerOfTwo(everywhere));
  const halve = (first: HostKey, size: number): readonly Shard[] => {
    const hosts = byKey.slice(first, first + size).reduce((sum, count) => sum + count, 0);
    if (hosts <= capacity || size === 1) return [{ first, last: first + size - 1 }];
    return [...halve(first, size / 2), ...halve(first + size / 2, size / 2)];
  };
  return halve(0, KEYS);
}

/** The least that is not smaller. Rounded, so that not every wildcard host moves the edges. */
function powerOfTwo(atLeast: number): number {
  return atLeast <= 1 ? 1 : 2 ** Math.ceil(Math.log2(atLeast));
}

/**
 * The route table of a shard. The name says which hosts it holds: when a shard is divided, its parts are new tables, and none is ever
 * cut down while a proxy still looks for a host in it.
 */
export function shardName(table: string, { first, last }: Shard): string {
  return first === last ? `${table}/${first}` : `${table}/${first}-${last}`;
}

export function keysOf({ first, last }: Shard): HostKey[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Hosts that any request may fall to: wildcards, and the default host. */
export function standsEverywhere(host: HostName): boolean {
  return host === DEFAULT_HOST || isWildcard(host);
}

export function isInShard(host: HostName, { first, last }: Shard): boolean {
  if (standsEverywhere(host)) return true;
  const key = hostKey(host);
  return first <= key && key <= last;
}

/** Group of the hosts that stand in every shard; all others belong to the group of their key. */
export const EVERYWHERE = 'everywhere';

/** The group of a host: its key in decimal, or `EVERYWHERE`. */
export function shardGroup(host: HostName): string {
  return standsEverywhere(host) ? EVERYWHERE : String(hostKey(host));
}

export const LAYOUT = 'layout';

/** One entry, `LAYOUT`: the shards. The set of hosts and their names decides, not what is in them. */
export function deriveShards(
  engine: Engine,
  hosts: Table<Pick<VirtualHost, 'host' | 'aliases'>>,
): Table<readonly Shard[]> {
  return engine.reduce<Pick<VirtualHost, 'aliases'>, string, Map<string, number>, readonly Shard[]>('shards', hosts, {
    // With many names a host may be in many shards, in each once.
    spread: (host, { aliases = [] }) =>
      [...new Set([host, ...aliases].map(shardGroup))].map((group) => [LAYOUT, group]),
    init: () => new Map(),
    add: (counts, _host, group) => void counts.set(group, (counts.get(group) ?? 0) + 1),
    remove: (counts, _host, group) => void counts.set(group, (counts.get(group) ?? 0) - 1),
    empty: () => false,
    view: (counts) => {
      const byKey = Array.from({ length: KEYS }, (_, key) => counts.get(String(key)) ?? 0);
      return shardsOf({ byKey, everywhere: counts.get(EVERYWHERE) ?? 0 });
    },
    equal: deepEqual,
    always: [LAYOUT],
  });
}
