import type { IngressBackend } from '../cluster/objects.ts';
import { DEFAULT_HOST, type HostName, type PathMatch } from '../model/proxy-model.ts';
import type { ServedIngress } from './served-ingress.ts';

/** An Ingress wants to answer what matches on a host. */
export interface Claim {
  readonly ingress: ServedIngress;
  readonly match: PathMatch;
  /** `spec.rules[0].http.paths[0]` or `spec.defaultBackend` */
  readonly field: string;
  readonly backend: IngressBackend;
  /** A default backend takes what the paths of the host leave over: it gives way to them without a conflict. */
  readonly fallback: boolean;
}

export interface LostClaim {
  readonly claim: Claim;
  readonly winner: Claim;
}

const ROOT: PathMatch = { kind: 'prefix', path: '/' };

/**
 * The claims on a host in order of precedence: Ingresses that have only a default backend (they beat even the `/` of other
 * host-less Ingresses), then paths, then default backends of Ingresses with rules; older Ingresses first in each.
 * `ingresses` are sorted by age.
 */
export function claimsOn(host: HostName, ingresses: readonly ServedIngress[]): Claim[] {
  const catchAll = host === DEFAULT_HOST ? ingresses.filter((ingress) => ingress.catchAll) : [];
  const withRules = ingresses.filter((ingress) => !ingress.catchAll);
  return [
    ...catchAll.flatMap((ingress) => claimDefault(ingress, false)),
    ...withRules.flatMap((ingress) => claimPaths(host, ingress)),
    ...withRules.flatMap((ingress) => claimDefault(ingress, true)),
  ];
}

/** The first claim of a match wins; conflicts are what the loser's user should know about. */
export function settleClaims(claims: readonly Claim[]): {
  readonly winners: readonly Claim[];
  readonly lost: readonly LostClaim[];
} {
  const winners = new Map<string, Claim>();
  const lost: LostClaim[] = [];
  for (const claim of claims) {
    const key = `${claim.match.kind} ${claim.match.path}`;
    const winner = winners.get(key);
    if (winner === undefined) winners.set(key, claim);
    else if (!claim.fallback || winner.fallback) lost.push({ claim, winner });
  }
  return { winners: [...winners.values()], lost };
}

function claimPaths(host: HostName, ingress: ServedIngress): Claim[] {
  return ingress.rules
    .filter((rule) => rule.host === host)
    .flatMap(({ paths }) => paths.map((path) => ({ ingress, ...path, fallback: false })));
}

function claimDefault(ingress: ServedIngress, fallback: boolean): Claim[] {
  const { defaultBackend: backend } = ingress;
  return backend === undefined ? [] : [{ ingress, match: ROOT, field: 'spec.defaultBackend', backend, fallback }];
}
