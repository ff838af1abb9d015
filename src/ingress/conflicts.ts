import type { IngressBackend } from '../cluster/objects.ts';
import { DEFAULT_HOST, type HostName } from '../model/proxy-model.ts';
import { rulesOf } from './lookup-by-host.ts';
import type { RulePath } from './path.ts';
import type { ServedIngress } from './served-ingress.ts';

/** An Ingress wants to answer a path of a host. */
export interface Claim extends RulePath {
  readonly ingress: ServedIngress;
  /** `spec.rules[0].http.paths[0]` or `spec.defaultBackend` */
  readonly field: string;
  readonly backend: IngressBackend;
  /** A default backend takes what the paths of the host leave over: it gives way to them without a conflict. */
  readonly fallback: boolean;
  /** Set where it stands for a path that cannot be served and is to be protected: 503. */
  readonly closed?: true;
  /** The path of the host in whose place it is closed, or served. */
  readonly standsFor?: Claim;
  /** Set where it is served in the place of another: the expression for what that one says literally. */
  readonly said?: string;
}

export interface LostClaim {
  readonly claim: Claim;
  readonly winner: Claim;
}

const ROOT: RulePath = { path: '/', type: 'prefix', literal: { match: { kind: 'prefix', path: '/' } } };

/**
 * The claims on a host in order of precedence: Ingresses that have only a default backend (they beat even the `/` of other
 * host-less Ingresses), then paths, older Ingresses first in each; then the default backend of the host's first Ingress.
 * `ingresses` are sorted by age.
 */
export function claimsOn(host: HostName, ingresses: readonly ServedIngress[]): Claim[] {
  const catchAll = host === DEFAULT_HOST ? ingresses.filter((ingress) => ingress.catchAll) : [];
  const withRules = ingresses.filter((ingress) => !ingress.catchAll);
  return [
    ...catchAll.flatMap((ingress) => claimDefault(ingress, false)),
    ...withRules.flatMap((ingress) => claimPaths(host, ingress)),
    // As in ingress-nginx: what no path takes belongs to the first Ingress, whether or not it has a default backend.
    ...withRules.slice(0, 1).flatMap((ingress) => claimDefault(ingress, true)),
  ];
}

/** Ingresses whose default backend nothing reaches on a host because what no path takes belongs to `first`, an older Ingress. */
export function idleDefaultBackends(
  ingresses: readonly ServedIngress[],
  winners: readonly Claim[],
): { readonly first: ServedIngress; readonly idle: readonly ServedIngress[] } | undefined {
  const [first, ...others] = ingresses.filter((ingress) => !ingress.catchAll);
  const root = winners.find(({ type, path }) => type === 'prefix' && path === '/');
  if (first === undefined || (root !== undefined && !root.fallback)) return undefined;
  return { first, idle: others.filter(({ defaultBackend }) => defaultBackend !== undefined) };
}

export interface SettledClaims {
  readonly winners: readonly Claim[];
  readonly lost: readonly LostClaim[];
}

/** Claims with equal keys want the same requests. */
export type ClaimKey = (claim: Claim) => string;

/** Where paths are regular expressions, those of one text are the same. */
export const byText: ClaimKey = ({ type, path }) => `${type} ${path}`;

export const byMatch: ClaimKey = (claim) =>
  'match' in claim.literal ? `${claim.literal.match.kind} ${claim.literal.match.path}` : byText(claim);

/** The first claim of a path wins; conflicts are what the loser's user should know about. */
export function settleClaims(claims: readonly Claim[], keyOf: ClaimKey): SettledClaims {
  const winners = new Map<string, Claim>();
  const lost: LostClaim[] = [];
  for (const claim of claims) {
    const key = keyOf(claim);
    const winner = winners.get(key);
    if (winner === undefined) winners.set(key, claim);
    else if (!claim.fallback) lost.push({ claim, winner });
  }
  return { winners: [...winners.values()], lost };
}

/** What a canary wants a part of, by the match that it has to share with a claim. */
export function canaryClaims(
  host: HostName,
  canaries: readonly ServedIngress[],
  keyOf: ClaimKey,
): Map<string, Claim[]> {
  const claims = canaries.flatMap((ingress) => [
    ...claimPaths(host, ingress),
    ...(ingress.catchAll ? claimDefault(ingress, false) : []),
  ]);
  return Map.groupBy(claims, keyOf);
}

function claimPaths(host: HostName, ingress: ServedIngress): Claim[] {
  const claims = rulesOf(ingress, host).flatMap(({ paths }) =>
    paths.map((path): Claim => ({ ingress, ...path, fallback: false })),
  );
  // What is closed in place of a path takes none that the Ingress itself serves.
  return claims.toSorted((a, b) => Number(isServed(b)) - Number(isServed(a)));
}

function isServed({ closed, literal }: Claim): boolean {
  return closed === undefined && 'match' in literal;
}

function claimDefault(ingress: ServedIngress, fallback: boolean): Claim[] {
  const { defaultBackend: backend } = ingress;
  return backend === undefined ? [] : [{ ingress, ...ROOT, field: 'spec.defaultBackend', backend, fallback }];
}
