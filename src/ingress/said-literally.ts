/** Where paths are regular expressions: what protected ones say literally, and would leave to others. */
import { byMatch, type Claim } from './conflicts.ts';
import { literalPattern, matchesItself } from './path-text.ts';
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
 * protects by more what they would take as well. That is below a protected path, and through a `.` anywhere.
 * @param causes the Ingresses that mean expressions
 */
export function narrowed(
  winners: readonly Claim[],
  literal: readonly Claim[],
  causes: ReadonlySet<ServedIngress>,
): Map<Claim, string> {
  const meant = new Map(literal.map((claim) => [byMatch(claim), claim]));
  const protectors = [...new Set(winners.map(({ ingress }) => ingress))].filter(isProtected);
  const expressions = new Map<Claim, string>();
  for (const claim of protectors.length === 0 ? [] : winners) {
    const { type, path, ingress, closed, literal: says } = claim;
    if (closed || causes.has(ingress) || !matchesItself(path) || !('match' in says)) continue;
    const said = says.match.path;
    const near = path.includes('.')
      ? protectors
      : pathsAbove(said).flatMap((one) => meant.get(`prefix ${one}`)?.ingress ?? []);
    if (!near.some(({ protectedBy }) => protectedBy.some((key) => !ingress.protectedBy.includes(key)))) continue;
    const isOfOthers = meant.has(`exact ${said}`) || path.endsWith('/');
    expressions.set(claim, literalPattern({ type, path: said }, isOfOthers ? [said] : []));
  }
  return expressions;
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
    const key = isPlain(path) ? path.toLowerCase() : String(path.length);
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
