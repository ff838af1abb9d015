/**
 * Names beside the hosts of Ingresses: those in `server-alias`, and a host with or without `www.` that is to be redirected. A host of an
 * Ingress counts before both. Of several Ingresses that want a name the oldest has it, in ingress-nginx the first host in alphabetical
 * order: nobody takes what another has (ADR 0006). Of one Ingress an alias counts before a redirect.
 */
import type { Engine, Reader, Table } from '../derive.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectKey, objectRef } from '../model/object-ref.ts';
import { DEFAULT_HOST, type HostName } from '../model/proxy-model.ts';
import type { WwwRedirect } from './declaration/annotation.ts';
import { diagnose } from './diagnose.ts';
import { isWildcard } from './host.ts';
import { type HostIndex, ingressesOf } from './ingresses-by-host.ts';
import { type Age, compareAge, hostsOf, type IngressDecision, type ServedIngress } from './served-ingress.ts';

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
interface NameClaim extends Age {
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
    const owner = read(hosts.byHost, name)?.keys().next().value;
    const all = [...(read(claims, name)?.values() ?? [])]
      .toSorted(compareAge)
      .map((claim) => ({ claim, of: aliasHost(claim, read, hosts) }));
    const wanted = all.flatMap(({ claim, of }): WantedUse[] => {
      const redirect = claim.redirectTo && { kind: 'redirect' as const, ...claim.redirectTo };
      const use = of === undefined ? redirect : { kind: 'alias' as const, of };
      return use === undefined ? [] : [{ ingress: claim.key, use }];
    });
    const [winner] = wanted;
    const unheard = all
      .filter(({ of }) => of === undefined)
      .flatMap(({ claim }) => reportUnheard(name, claim, winner?.use, (host) => speaker(host, read, hosts)));
    if (winner === undefined) return unheard.length === 0 ? undefined : { diagnostics: unheard };
    if (owner !== undefined)
      return { diagnostics: [...conflicts(name, wanted, `is a host of Ingress ${owner}`), ...unheard] };
    const { use, ingress } = winner;
    const lost = wanted.filter((other) => other.use.of !== use.of);
    const taken = use.kind === 'alias' ? 'is an alias of' : 'is redirected to';
    const lostTo = `${taken} ${use.of} already (Ingress ${ingress})`;
    return { use, diagnostics: [...conflicts(name, lost, lostTo), ...unheard] };
  });
}

function claimsOf(served: ServedIngress): ReadonlyMap<HostName, NameClaim> {
  const { aliases = [], fromToWww } = served.host;
  const { key, creationTimestamp } = served;
  const claims = new Map<HostName, NameClaim>();
  if (aliases.length === 0 && fromToWww === undefined) return claims;
  const hosts = [...hostsOf(served)].toSorted();
  if (fromToWww !== undefined) {
    for (const host of hosts) {
      if (host === DEFAULT_HOST || isWildcard(host)) continue;
      claims.set(otherName(host), { key, creationTimestamp, redirectTo: { of: host, ...fromToWww } });
    }
  }
  for (const alias of aliases) claims.set(alias, { ...claims.get(alias), key, creationTimestamp, aliasOf: hosts });
  return claims;
}

function otherName(host: HostName): HostName {
  return host.startsWith(WWW) ? host.slice(WWW.length) : WWW + host;
}

const WWW = 'www.';

interface WantedUse {
  readonly ingress: ObjectKey;
  readonly use: NameUse;
}

/** The first host for which the Ingress may name aliases: only the first Ingress of a host that has any does. */
function aliasHost({ key, aliasOf = [] }: NameClaim, read: Reader, hosts: HostIndex): HostName | undefined {
  return aliasOf.find((host) => speaker(host, read, hosts) === key);
}

/** Who names the aliases of a host. */
function speaker(host: HostName, read: Reader, hosts: HostIndex): ObjectKey | undefined {
  return ingressesOf(host, read, hosts).find(({ host: { aliases } }) => aliases !== undefined)?.key;
}

/** An alias that counts for none of its hosts; nothing where the Ingress that counts there names it too. */
function reportUnheard(
  name: HostName,
  { key, aliasOf = [] }: NameClaim,
  use: NameUse | undefined,
  speakerOf: (host: HostName) => ObjectKey | undefined,
): Diagnostic[] {
  const [host] = aliasOf;
  if (host === undefined || (use?.kind === 'alias' && aliasOf.includes(use.of))) return [];
  return [
    lostAlias(key, name, `${name} is left out, since Ingress ${speakerOf(host)} names the aliases of host ${host}`),
  ];
}

function lostAlias(ingress: ObjectKey, name: HostName, why: string, message = why): Diagnostic {
  return {
    ...diagnose(objectRef('Ingress', ingress), 'warning', 'AliasConflict', message, 'metadata.annotations'),
    ignored: { annotations: ['server-alias'], parts: [name], why },
  };
}

/** A host with and without `www.` is common, so that only aliases are worth a word. */
function conflicts(name: HostName, lost: readonly WantedUse[], reason: string): Diagnostic[] {
  return lost
    .filter(({ use }) => use.kind === 'alias')
    .map(({ ingress, use }) => {
      const message = `alias ${name} of host ${use.of} ${reason}; requests to it go there`;
      return lostAlias(ingress, name, `${name} ${reason}`, message);
    });
}
