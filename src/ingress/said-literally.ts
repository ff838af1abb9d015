/** Where paths are regular expressions: what protected ones say literally, and would leave to others. */
import { PROTECTIVE_POLICIES } from '../model/protective-policies.ts';
import { byMatch, type Claim } from './conflicts.ts';
import { canonicalPath, literalPattern, matchesItself } from './path-text.ts';
import type { ServedIngress } from './served-ingress.ts';

/**
 * Claims to be served beside the winners. As an expression `Prefix /a/` does not take `/a`, and of paths of one length another may come
 * first: one that is the same but for case or type, such as `/`, or an expression.
 * @param literal who would win if no path were a regular expression
 */
export function saidLiterally(winners: readonly Claim[], literal: readonly Claim[]): Claim[] {
  const meant = new Map(literal.map((claim) => [byMatch(claim), claim]));
  const hasRivals = rivalsAmong(winners);
  return winners.flatMap((claim): Claim[] => {
    const { type, path, ingress, closed, literal: says } = claim;
    if (closed || !isProtected(ingress) || !matchesItself(path) || !('match' in says)) return [];
    if (meant.get(byMatch(claim)) !== claim) return [];
    if (type === 'prefix' && (path === '/' || ingress.host.rewrite?.useRegex)) return [];
    const saidPath = says.match.path;
    const losesItself = type === 'prefix' && path.endsWith('/');
    const text = losesItself ? `${saidPath}/` : saidPath;
    if (!losesItself && !hasRivals(text, ingress)) return [];
    const others = [saidPath, `${saidPath}/`].filter((other) => meant.has(`exact ${other}`));
    return [{ ...claim, path: text, standsFor: claim, said: literalPattern({ type, path: saidPath }, others) }];
  });
}

/**
 * The expressions of paths that take no more than they say, in any case: of Ingresses that mean no expressions, where another Ingress
 * protects otherwise what they would take as well. That is below a protected path, and through a `.` anywhere.
 * @param causes the Ingresses that mean expressions
 */
export function narrowed(
  winners: readonly Claim[],
  literal: readonly Claim[],
  causes: ReadonlySet<ServedIngress>,
): Map<Claim, string> {
  const exact = new Set(literal.map(byMatch));
  const anywhere = new Set(winners.flatMap(({ ingress }) => protectionOf(ingress) ?? []));
  const below = protectionsByPath(literal);
  const expressions = new Map<Claim, string>();
  for (const claim of anywhere.size === 0 ? [] : winners) {
    const { type, path, ingress, closed, literal: says } = claim;
    if (closed || causes.has(ingress) || !matchesItself(path) || !('match' in says)) continue;
    const said = says.match.path;
    const own = protectionOf(ingress);
    const near = path.includes('.')
      ? [anywhere]
      : pathsAbove(said).flatMap((one) => below.get(one.toLowerCase()) ?? []);
    if (!near.some((protections) => protections.size > Number(own !== undefined && protections.has(own)))) continue;
    const isOfOthers = exact.has(`exact ${said}`) || path.endsWith('/');
    expressions.set(claim, literalPattern({ type, path: said }, isOfOthers ? [said] : []));
  }
  return expressions;
}

/** What protects the paths of type Prefix, by the path in lower case: expressions take any case. */
function protectionsByPath(literal: readonly Claim[]): Map<string, Set<string>> {
  const byPath = new Map<string, Set<string>>();
  for (const { ingress, literal: says } of literal) {
    const protection = protectionOf(ingress);
    if (protection === undefined || !('match' in says) || says.match.kind !== 'prefix') continue;
    const path = says.match.path.toLowerCase();
    byPath.set(path, (byPath.get(path) ?? new Set()).add(protection));
  }
  return byPath;
}

/** Equal for Ingresses that refuse the same requests. */
function protectionOf(ingress: ServedIngress): string | undefined {
  if (!isProtected(ingress)) return undefined;
  const { protectedBy, route } = ingress;
  return JSON.stringify([protectedBy, PROTECTIVE_POLICIES.map((policy) => route[policy])]);
}

function isProtected({ protectedBy }: ServedIngress): boolean {
  return protectedBy.length > 0;
}

/** `/`, `/a` and `/a/b` for `/a/b/c` or `/a/b/`. */
function pathsAbove(path: string): string[] {
  const slashes = [...path.matchAll(/\//g)].map(({ index }) => index);
  return slashes.map((end) => path.slice(0, end) || '/');
}

/** Whether another Ingress has a path that is as long and may take what a path says. */
function rivalsAmong(winners: readonly Claim[]): (path: string, ingress: ServedIngress) => boolean {
  const byKey = new Map<string, Set<ServedIngress>>();
  for (const { path, ingress } of winners) {
    const text = matchesItself(path) ? canonicalPath(path) : path;
    const key = isPlain(text) ? text.toLowerCase() : String(text.length);
    byKey.set(key, (byKey.get(key) ?? new Set()).add(ingress));
  }
  return (path, ingress) =>
    [path.toLowerCase(), String(path.length)].some((key) => {
      const ingresses = byKey.get(key);
      return ingresses !== undefined && ingresses.size > Number(ingresses.has(ingress));
    });
}

/** Whether it takes nothing as an expression that does not begin with its text, in any case. */
function isPlain(path: string): boolean {
  return /^[\w/~@:;,=&!'-]*$/.test(path);
}
