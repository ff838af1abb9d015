import type { envoy_config_route_v3_RouteMatch as RouteMatchMessage } from '../gen/messages.ts';
import type { PathMatch } from '../model/proxy-model.ts';
import { pathExpression } from './path-expression.ts';
import { everySpelling, hasOneSpelling } from './path-spelling.ts';

export function matchMessage(match: PathMatch): RouteMatchMessage {
  if (match.kind === 'regex') return { safe_regex: { regex: pathExpression(match.path).match } };
  const regex = hasOneSpelling(match.path) ? undefined : everySpelling(match);
  if (regex !== undefined) return { safe_regex: { regex } };
  // Envoy does not merge these two slashes.
  if (match.kind === 'exact' && match.path === '/') return { safe_regex: { regex: '//?' } };
  if (match.kind === 'exact') return { path: match.path };
  return match.path === '/' ? { prefix: '/' } : { path_separated_prefix: match.path };
}
