/**
 * What the paths of a host match. As soon as one Ingress asks for regular expressions, or rewrites, every path of the host is one, as
 * in ingress-nginx.
 */
import type { HostName, PathMatch } from '../model/proxy-model.ts';
import { byMatch, byText, type Claim, type ClaimKey, claimsOn, type LostClaim, settleClaims } from './conflicts.ts';
import { compareMatches, meantLiterally } from './path.ts';
import { literalTarget } from './path-rewrite.ts';
import {
  canonicalPath,
  literalPattern,
  matchesItself,
  patternOf,
  patternText,
  withoutDoubleSlashes,
} from './path-text.ts';
import { narrowed, saidLiterally } from './said-literally.ts';
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
  /** Claims beside which is closed what they say literally, since as regular expressions they say something else. */
  readonly misread: readonly Claim[];
  /** Which claims are for the same path. */
  readonly keyOf: ClaimKey;
  /** Set where paths are regular expressions: the first Ingress that makes them so. */
  readonly regexBy?: ServedIngress;
}

/** `ingresses` are sorted by age. */
export function hostPaths(host: HostName, ingresses: readonly ServedIngress[]): HostPaths {
  const claims = claimsOn(host, ingresses);
  if (ingresses.some(asksForRegex)) {
    const causes = regexCauses(ingresses, settleClaims(claims, byText).winners);
    const regexBy = ingresses.find((ingress) => causes.has(ingress));
    if (regexBy !== undefined) return { ...expressionPaths(claims, causes), regexBy };
  }
  const settled = settleClaims(claims.flatMap(literally), byMatch);
  const places = settled.winners.flatMap((claim) =>
    'match' in claim.literal ? [{ claim, match: claim.literal.match, rewrites: false }] : [],
  );
  return {
    ...settled,
    places: places.toSorted((a, b) => compareMatches(a.match, b.match)),
    impossible: claims.filter(({ literal }) => 'reason' in literal),
    misread: [],
    keyOf: byMatch,
  };
}

/** @param causes the Ingresses that mean their paths as regular expressions. */
function expressionPaths(claims: readonly Claim[], causes: ReadonlySet<ServedIngress>): HostPaths {
  const literal = settleClaims(claims.flatMap(literally), byMatch);
  const yielding = literal.lost.filter((lost) => yieldsToProtected(lost, causes));
  const yielded = new Set(yielding.map(({ claim }) => claim));
  const others = claims.filter((claim) => !yielded.has(claim));
  const misread = others.filter((claim) => !causes.has(claim.ingress) && isMisread(claim));
  const toClose = new Set(misread);
  const { winners, lost } = settleClaims(
    others.flatMap((claim) => (toClose.has(claim) ? [claim, ...closed(claim)] : [claim])),
    byExpression,
  );
  const narrow = narrowed(winners, literal.winners, causes);
  const expressions = inMatchOrder([...winners, ...saidLiterally(winners, literal.winners)], causes).flatMap(
    (claim) => {
      const pattern = narrow.get(claim);
      if (pattern !== undefined) return [{ claim, pattern, rewrites: false }];
      return [...expressionsOf(claim, winners), ...(causes.has(claim.ingress) ? closedBeside(claim) : [])];
    },
  );
  const places = expressions.map(asExpression);
  return { winners, lost: [...lost, ...yielding], places, impossible: [], misread, keyOf: byText };
}

/** A path of another text, but with the meaning of an older one that is protected, does not become another path by a longer text. */
function yieldsToProtected({ claim, winner }: LostClaim, causes: ReadonlySet<ServedIngress>): boolean {
  const isMeantLiterally = !causes.has(claim.ingress) && !causes.has(winner.ingress);
  return isMeantLiterally && winner.ingress.protectedBy.length > 0 && claim.ingress !== winner.ingress;
}

/** Where no path is a regular expression: itself, or what is closed in its place. */
function literally(claim: Claim): Claim[] {
  if ('match' in claim.literal) return [claim];
  return claim.ingress.protectedBy.length === 0 ? [] : closed(claim);
}

/** What is closed for a claim: all that it says, or may have been meant for. */
function closed(claim: Claim): Claim[] {
  return meantLiterally(claim).map((match) => ({
    ...claim,
    path: match.path,
    type: match.kind === 'exact' ? 'exact' : 'prefix',
    literal: { match },
    closed: true,
    standsFor: claim,
  }));
}

/** Whether it is to be protected, and as a regular expression need not match what it says. */
function isMisread({ path, literal, ingress, closed: isClosed }: Claim): boolean {
  return (
    !isClosed &&
    ingress.protectedBy.length > 0 &&
    ('reason' in literal ? literal.meant.length > 0 : !matchesItself(path))
  );
}

function asksForRegex({ host: { rewrite } }: ServedIngress): boolean {
  return rewrite !== undefined;
}

interface Expression {
  readonly claim: Claim;
  readonly pattern: string;
  readonly rewrites: boolean;
}

/**
 * In the order of ingress-nginx: longer ones first, then in reverse order of their text; `/` of type Prefix before others. Of one length,
 * what is protected literally comes first, since others may take it by their case, or as expressions.
 */
function compareExpressions(a: Claim, b: Claim): number {
  if (a.path.length !== b.path.length) return b.path.length - a.path.length;
  const byRank = rankOf(a) - rankOf(b);
  if (byRank !== 0) return byRank;
  if (a.path !== b.path) return a.path < b.path ? 1 : -1;
  return a.path === '/' ? Number(a.type === 'exact') - Number(b.type === 'exact') : 0;
}

function rankOf({ type, closed: isClosed, standsFor }: Claim): number {
  if (!isClosed && standsFor === undefined) return 2;
  return type === 'exact' ? 0 : 1;
}

/**
 * What stands for a path comes where a path of its text would, but before the expressions that the path itself would come before: these
 * may be wider.
 */
function inMatchOrder(winners: readonly Claim[], causes: ReadonlySet<ServedIngress>): Claim[] {
  const expressions = winners
    .filter(({ path, closed: isClosed, standsFor }) => !isClosed && standsFor === undefined && !matchesItself(path))
    .toSorted(compareExpressions);
  const placeOf = (claim: Claim): Claim => {
    const { path, standsFor } = claim;
    if (standsFor === undefined && matchesItself(path) && !causes.has(claim.ingress)) return inOneSpelling(claim);
    if (standsFor === undefined || path === '/') return claim;
    const wider = expressions.find((other) => compareExpressions(standsFor, other) < 0);
    return wider !== undefined && compareExpressions(wider, claim) < 0 ? wider : claim;
  };
  return winners
    .map((claim) => ({ claim, rank: placeOf(claim) }))
    .toSorted((a, b) => compareExpressions(a.rank, b.rank) || Number(a.rank === a.claim) - Number(b.rank === b.claim))
    .map(({ claim }) => claim);
}

/** Who asks for no expressions gets no earlier place by how its path is spelled, unless that protects it. */
function inOneSpelling(claim: Claim): Claim {
  const path = canonicalPath(claim.path);
  const isEarlier = path.length > claim.path.length;
  return path === claim.path || (claim.ingress.protectedBy.length > 0 && !isEarlier) ? claim : { ...claim, path };
}

/** As `byText`, but a path that does not match itself leaves what it says to others. */
function byExpression(claim: Claim): string {
  const { type, path, closed: isClosed } = claim;
  return isClosed && !matchesItself(path) ? `${type} ${patternOf(path)}` : byText(claim);
}

/**
 * ingress-nginx writes a `Prefix` without annotations of the kind as two locations, `/foo/` and the exact `/foo`. So a target that
 * equals the path counts below it only, and an `Exact` path of the same text leaves the one with the slash alone.
 */
function expressionsOf(claim: Claim, winners: readonly Claim[]): Expression[] {
  const { path, type, ingress } = claim;
  if (claim.closed) return [{ claim, pattern: literalPattern(claim), rewrites: false }];
  if (claim.said !== undefined && claim.standsFor !== undefined) {
    const [{ rewrites } = { rewrites: false }] = expressionsOf(claim.standsFor, winners);
    return [{ claim: claim.standsFor, pattern: claim.said, rewrites }];
  }
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

/** The Ingresses that make the paths of the host regular expressions. */
function regexCauses(ingresses: readonly ServedIngress[], winners: readonly Claim[]): Set<ServedIngress> {
  const causes = new Set(
    winners
      .flatMap((claim) => expressionsOf(claim, winners))
      .filter(({ claim, rewrites }) => rewrites || claim.ingress.host.rewrite?.useRegex)
      .map(({ claim }) => claim.ingress),
  );
  // What no path takes is the first Ingress', with its annotations.
  const [first] = ingresses;
  const ownsRest = !winners.some(({ path, type }) => path === '/' && type === 'prefix');
  if (first !== undefined && ownsRest && rewritesRest(first)) causes.add(first);
  return causes;
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
