/**
 * Names beside the hosts of Ingresses: those in `server-alias`, and a host with or without `www.` that is to be redirected. A host of an
 * Ingress counts before an alias, an alias before a redirect; of two hosts that want the same name, the first in alphabetical order.
 */
import type { Engine, Reader, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import { DEFAULT_HOST, type HostName } from '../model/proxy-model.ts';
import type { WwwRedirect } from './declaration/annotation.ts';
import { diagnose } from './diagnose.ts';
import { isWildcard } from './host.ts';
import { type HostIndex, ingressesOf } from './ingresses-by-host.ts';
import { hostsOf, type IngressDecision, type ServedIngress } from './served-ingress.ts';

export interface FurtherName {
  /** What is served by the name; absent where an Ingress has it as a host, or nobody may have it. */
  readonly use?: NameUse;
  readonly diagnostics: readonly Diagnostic[];
}

export type NameUse =
  /** Everything as on the host. */
  | { readonly kind: 'alias'; readonly of: HostName }
  /** A redirect to the host. */
  | ({ readonly kind: 'redirect'; readonly of: HostName } & WwwRedirect);

/** What one Ingress wants a name for. */
interface NameClaim {
  /** Its hosts, sorted, if the name is an alias. */
  readonly aliasOf?: readonly HostName[];
  readonly redirectTo?: { readonly of: HostName } & WwwRedirect;
}

/** Unit per name that some Ingress wants. Ingresses without such annotations cost nothing. */
export function deriveFurtherNames(engine: Engine, hosts: HostIndex): Table<FurtherName> {
  const claims = engine.group<IngressDecision, NameClaim>('name-claims', hosts.servedIngresses, (_, { served }) =>
    served === undefined ? [] : claimsOf(served),
  );
  return engine.derive<FurtherName>('further-name', claims, (name, read) => {
    const wanted = [...(read(claims, name) ?? [])].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const owner = read(hosts.byHost, name)?.keys().next().value;
    const aliases = wanted.flatMap(([ingress, { aliasOf }]) => aliasHost(ingress, aliasOf ?? [], read, hosts));
    const winner = aliases.toSorted((a, b) => (a.host < b.host ? -1 : 1))[0];
    if (owner !== undefined) {
      return { diagnostics: aliases.map((lost) => conflict(name, lost, `is a host of Ingress ${owner}`)) };
    }
    if (winner !== undefined) {
      const lost = aliases.filter(({ host }) => host !== winner.host);
      const reason = `is an alias of ${winner.host} already (Ingress ${winner.ingress})`;
      return { use: { kind: 'alias', of: winner.host }, diagnostics: lost.map((one) => conflict(name, one, reason)) };
    }
    const [redirect] = wanted.flatMap(([, { redirectTo }]) => redirectTo ?? []);
    if (redirect === undefined) return undefined;
    return { use: { kind: 'redirect', ...redirect }, diagnostics: [] };
  });
}

function claimsOf(served: ServedIngress): ReadonlyMap<HostName, NameClaim> {
  const { aliases = [], fromToWww } = served.host;
  const claims = new Map<HostName, NameClaim>();
  if (aliases.length === 0 && fromToWww === undefined) return claims;
  const hosts = [...hostsOf(served)].toSorted();
  if (fromToWww !== undefined) {
    for (const host of hosts) {
      if (host === DEFAULT_HOST || isWildcard(host)) continue;
      claims.set(otherName(host), { redirectTo: { of: host, ...fromToWww } });
    }
  }
  for (const alias of aliases) claims.set(alias, { ...claims.get(alias), aliasOf: hosts });
  return claims;
}

function otherName(host: HostName): HostName {
  return host.startsWith(WWW) ? host.slice(WWW.length) : WWW + host;
}

const WWW = 'www.';

interface AliasClaim {
  readonly ingress: ObjectKey;
  readonly host: HostName;
}

/** The first host for which the Ingress may name aliases: only the first Ingress of a host that has any does. */
function aliasHost(ingress: ObjectKey, of: readonly HostName[], read: Reader, hosts: HostIndex): AliasClaim[] {
  const speaks = (host: HostName) =>
    ingressesOf(host, read, hosts).find(({ host: { aliases } }) => aliases !== undefined)?.key === ingress;
  const host = of.find(speaks);
  return host === undefined ? [] : [{ ingress, host }];
}

function conflict(alias: HostName, { ingress, host }: AliasClaim, reason: string): Diagnostic {
  const message = `alias ${alias} of host ${host} ${reason}; requests to it go there`;
  return diagnose(objectRef('Ingress', ingress), 'warning', 'AliasConflict', message, 'metadata.annotations');
}
