/** By which names a virtual host is served. Aliases stand with the host, so that many of them do not repeat its routes. */
import type { Engine, Reader, Table } from '../derive.ts';
import { DEFAULT_HOST, type HostName, type VirtualHost } from '../model/proxy-model.ts';
import type { FurtherName } from './further-names.ts';
import { isWildcard } from './host.ts';

export type HostNames = Pick<VirtualHost, 'host' | 'aliases'>;

/** By host: its aliases without a wildcard. */
type PlainAliases = Table<ReadonlyMap<HostName, unknown>>;

export function derivePlainAliases(engine: Engine, furtherNames: Table<FurtherName>): PlainAliases {
  return engine.group<FurtherName>('plain-aliases', furtherNames, (name, { use }) =>
    use?.kind === 'alias' && isPlain(name) ? [[use.of, true]] : [],
  );
}

/** Names that a proxy compares as they are, so that they can share a virtual host. */
function isPlain(name: HostName): boolean {
  return name !== DEFAULT_HOST && !isWildcard(name);
}

/** Of a host that an Ingress has. */
export function namesOfHost(host: HostName, read: Reader, plainAliases: PlainAliases): HostNames {
  return isPlain(host) ? withAliases(host, aliasesOf(host, read, plainAliases)) : { host };
}

/** Of an alias; `undefined` where it stands with the host, or with the first of the other aliases. */
export function namesOfAlias(
  alias: HostName,
  of: HostName,
  read: Reader,
  plainAliases: PlainAliases,
): HostNames | undefined {
  if (!isPlain(alias)) return { host: alias };
  if (isPlain(of)) return undefined;
  const [first = alias, ...others] = aliasesOf(of, read, plainAliases);
  return alias === first ? withAliases(first, others) : undefined;
}

function aliasesOf(host: HostName, read: Reader, plainAliases: PlainAliases): HostName[] {
  return [...(read(plainAliases, host)?.keys() ?? [])].toSorted();
}

function withAliases(host: HostName, aliases: readonly HostName[]): HostNames {
  return aliases.length === 0 ? { host } : { host, aliases };
}
