import type { envoy_config_route_v3_RouteMatch as RouteMatchMessage } from '../gen/messages.ts';
import type { PathMatch } from '../model/proxy-model.ts';
import { pathExpression } from './path-expression.ts';

export function matchMessage(match: PathMatch): RouteMatchMessage {
  if (match.kind === 'exact') return { path: match.path };
  if (match.kind === 'regex') return { safe_regex: { regex: pathExpression(match.path).match } };
  return match.path === '/' ? { prefix: '/' } : { path_separated_prefix: match.path };
}
