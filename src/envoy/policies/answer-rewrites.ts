import type { ValueRewrite } from '../../model/headers.ts';
import type { RoutePolicy } from '../../model/proxy-model.ts';
import { ANSWER_REWRITE, ANSWER_REWRITE_SCRIPT } from '../filters/answer-rewrite.ts';
import { type ApplyPolicy, changeForwards } from './policy.ts';

type AnswerRewrites = NonNullable<RoutePolicy['answerRewrites']>;

/** By a script that all routes share: no text of a user is part of it. */
export const applyAnswerRewrites: ApplyPolicy<AnswerRewrites> = ({ location, cookieDomain, cookiePath }, routes) => {
  const texts = {
    ...(location && ruleOf('location', 'prefix', location)),
    ...(cookieDomain && ruleOf('domain', 'equal', cookieDomain)),
    ...(cookiePath && ruleOf('path', 'prefix', cookiePath)),
  };
  const fields = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, { string_value: text }]));
  const config = {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.lua.v3.LuaPerRoute',
    name: ANSWER_REWRITE_SCRIPT,
    filter_context: { fields },
  } as const;
  return changeForwards(routes, (_, route) => ({
    typed_per_filter_config: { ...route.typed_per_filter_config, [ANSWER_REWRITE.name]: config },
  }));
};

function ruleOf(name: string, match: 'equal' | 'prefix', { from, isPattern, to }: ValueRewrite) {
  return {
    [`${name}_match`]: isPattern ? 'pattern' : match,
    [`${name}_from`]: isPattern ? luaPattern(from) : from,
    [`${name}_to`]: to,
  };
}

/** Of an expression in which nothing but the dot has a meaning of its own. */
function luaPattern(expression: string): string {
  return expression.replaceAll(/[^A-Za-z0-9.]/g, '%$&');
}
