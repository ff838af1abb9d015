import type {
  envoy_config_route_v3_RouteMatch as RouteMatchMessage,
  envoy_type_matcher_v3_StringMatcher as StringMatcher,
} from '../gen/messages.ts';
import type { PathMatch } from '../model/proxy-model.ts';
import type { TextPattern } from '../model/settings.ts';
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

/** What a part of the value matches, for an expression; the whole of it, for a text. */
export function stringMatcher(pattern: TextPattern): StringMatcher {
  if (pattern.kind === 'text') return { exact: pattern.text, ignore_case: true };
  const flags = pattern.ignoreCase ? '(?i)' : '';
  return { safe_regex: { regex: `.*(?:${flags}${pattern.pattern}).*` } };
}
