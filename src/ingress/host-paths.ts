/**
 * What the paths of a host match. As soon as one Ingress asks for regular expressions, or rewrites, every path of the host is one, as
 * in ingress-nginx.
 */
import type { HostName, PathMatch } from '../model/proxy-model.ts';
import { byMatch, byText, type Claim, type ClaimKey, claimsOn, type LostClaim, settleClaims } from './conflicts.ts';
import { compareMatches } from './path.ts';
import { literalTarget } from './path-rewrite.ts';
import { patternOf, patternText, withoutDoubleSlashes } from './path-text.ts';
import type { ServedIngress } from './served-ingress.ts';

/** A claim and what it matches; one claim may be served in two places. */
export interface Place {
  readonly claim: Claim;
  readonly match: PathMatch;
  /** Whether `rewrite-target` counts here. */
  readonly rewrites: boolean;
}

export interface HostPaths {
  /** In match order. */
  readonly places: readonly Place[];
  readonly winners: readonly Claim[];
  readonly lost: readonly LostClaim[];
  /** Claims that no request could ever match. */
  readonly impossible: readonly Claim[];
  /** Which claims are for the same path. */
  readonly keyOf: ClaimKey;
  /** Set where paths are regular expressions: the first Ingress that makes them so. */
  readonly regexBy?: ServedIngress;
}

/** `ingresses` are sorted by age. */
export function hostPaths(host: HostName, ingresses: readonly ServedIngress[]): HostPaths {
  const claims = claimsOn(host, ingresses);
  if (ingresses.some(asksForRegex)) {
    const settled = settleClaims(claims, byText);
    const expressions = settled.winners
      .toSorted(compareExpressions)
      .flatMap((claim) => [...expressionsOf(claim, settled.winners), ...closedBeside(claim)]);
    const regexBy = firstCause(ingresses, settled.winners, expressions);
    if (regexBy !== undefined)
      return { ...settled, places: expressions.map(asExpression), impossible: [], keyOf: byText, regexBy };
  }
  const settled = settleClaims(claims.flatMap(literally), byMatch);
  const places = settled.winners.flatMap((claim) =>
    'match' in claim.literal ? [{ claim, match: claim.literal.match, rewrites: false }] : [],
  );
  return {
    ...settled,
    places: places.toSorted((a, b) => compareMatches(a.match, b.match)),
    impossible: claims.filter(({ literal }) => 'reason' in literal),
    keyOf: byMatch,
  };
}

/** Where no path is a regular expression: itself, or what is closed in its place. */
function literally(claim: Claim): Claim[] {
  const { literal, ingress } = claim;
  if ('match' in literal) return [claim];
  if (ingress.protectedBy.length === 0) return [];
  return literal.meant.map((match) => ({ ...claim, literal: { match }, closed: true }));
}

function asksForRegex({ host: { rewrite } }: ServedIngress): boolean {
  return rewrite !== undefined;
}

interface Expression {
  readonly claim: Claim;
  readonly pattern: string;
  readonly rewrites: boolean;
}

/** In the order of ingress-nginx: longer ones first, then in reverse order of their text; `/` of type Prefix before others. */
function compareExpressions(a: Claim, b: Claim): number {
  if (a.path.length !== b.path.length) return b.path.length - a.path.length;
  if (a.path !== b.path) return a.path < b.path ? 1 : -1;
  return a.path === '/' ? Number(b.type === 'prefix') - Number(a.type === 'prefix') : 0;
}

/**
 * ingress-nginx writes a `Prefix` without annotations of the kind as two locations, `/foo/` and the exact `/foo`. So a target that
 * equals the path counts below it only, and an `Exact` path of the same text leaves the one with the slash alone.
 */
function expressionsOf(claim: Claim, winners: readonly Claim[]): Expression[] {
  const { path, type, ingress } = claim;
  if (claim.closed) return [{ claim, pattern: patternOf(path), rewrites: false }];
  const { useRegex = false } = ingress.host.rewrite ?? {};
  const target = literalTarget(ingress);
  const rewrites = target !== undefined && target !== path;
  if (path === '/' || type === 'exact' || rewrites || useRegex) return [{ claim, pattern: path, rewrites }];
  const below = `${path.replace(/\/+$/, '')}/`;
  const belowOnly = { claim, pattern: below, rewrites: target !== undefined && target !== below };
  const isTaken = winners.some((other) => other.type === 'exact' && other.path === path);
  if (isTaken) return [belowOnly];
  if (!belowOnly.rewrites) return [{ claim, pattern: path, rewrites: false }];
  return [belowOnly, { claim, pattern: path, rewrites: false }];
}

/** No request has slashes that follow one another, so an expression with them takes none: what it was to protect is closed. */
function closedBeside(claim: Claim): Expression[] {
  const pattern = withoutDoubleSlashes(claim.path);
  if (claim.closed || pattern === claim.path || claim.ingress.protectedBy.length === 0) return [];
  return [{ claim: { ...claim, closed: true }, pattern, rewrites: false }];
}

function firstCause(
  ingresses: readonly ServedIngress[],
  winners: readonly Claim[],
  expressions: readonly Expression[],
): ServedIngress | undefined {
  const causes = new Set(
    expressions
      .filter(({ claim, rewrites }) => rewrites || claim.ingress.host.rewrite?.useRegex)
      .map(({ claim }) => claim.ingress),
  );
  // What no path takes is the first Ingress', with its annotations.
  const [first] = ingresses;
  const ownsRest = !winners.some(({ path, type }) => path === '/' && type === 'prefix');
  if (first !== undefined && ownsRest && rewritesRest(first)) causes.add(first);
  return ingresses.find((ingress) => causes.has(ingress));
}

/** Whether annotations of an Ingress take effect on what no path of its host takes. */
export function rewritesRest(ingress: Pick<ServedIngress, 'host'>): boolean {
  const target = literalTarget(ingress);
  return ingress.host.rewrite?.useRegex === true || (target !== undefined && target !== '/');
}

function asExpression({ claim, pattern, rewrites }: Expression): Place {
  const match: PathMatch =
    pattern === '/' ? { kind: 'prefix', path: '/' } : { kind: 'regex', path: patternText(pattern) };
  return { claim, match, rewrites };
}
