import {
  envoy_config_route_v3_RedirectAction_RedirectResponseCode as RedirectStatus,
  type envoy_type_matcher_v3_RegexMatchAndSubstitute as RegexRewrite,
  type envoy_config_route_v3_RouteAction as RouteActionMessage,
  type envoy_config_route_v3_Route as RouteMessage,
} from '../../gen/messages.ts';
import { parsePattern } from '../../model/path-pattern.ts';
import type { CapturingTemplate, PathRewrite } from '../../model/proxy-model.ts';
import { type SlashFirst, slashFirst } from '../../model/slash-first.ts';
import type { Template } from '../../model/template.ts';
import { hostAndPort, urlTemplate } from '../../model/url-template.ts';
import { keepsOriginal } from '../filters/original-request.ts';
import { capturedText, formatString } from '../format.ts';
import { overwrite } from '../headers.ts';
import { pathExpression } from '../path-expression.ts';
import { type ApplyPolicy, changeForwards } from './policy.ts';

export const applyRewrite: ApplyPolicy<PathRewrite> = (rewrite, routes) =>
  rewrite.redirects
    ? routes.map((route) => redirect(route, rewrite))
    : routes.flatMap((route) => forward(route, rewrite));

/** What leads to a backend; where the target may give no path, answers of the proxy stand beside it. */
function forward(route: RouteMessage, rewrite: PathRewrite): readonly RouteMessage[] {
  if (!('route' in route) || route.route === undefined) return [route];
  const narrow = narrowed(rewrite);
  const failing = withAction(route, { direct_response: { status: NO_PATH } });
  if (narrow.pattern === undefined) return [failing];
  const match = narrow.others
    ? { match: { ...route.match, safe_regex: { regex: pathExpression(narrow.pattern).match } } }
    : {};
  const [changed] = changeForwards([{ ...route, ...match } as RouteMessage], (action) => ({
    route: { ...action, regex_rewrite: pathRewrite(narrow.pattern ?? rewrite.pattern, rewrite.target) },
    ...prefixHeader(route, rewrite),
    ...keepsOriginal(route),
  }));
  return narrow.others ? [changed ?? route, failing] : [changed ?? route];
}

/** As nginx answers where nothing is left of a path. */
const NO_PATH = 500;

function narrowed({ pattern, target }: PathRewrite): SlashFirst {
  const [first = ''] = target;
  if (typeof first === 'string') return first.startsWith('/') ? { pattern, others: false } : { others: true };
  if ('capture' in first) return slashFirst(pattern, first.capture) ?? { others: true };
  return { others: true };
}

function pathRewrite(pattern: string, target: CapturingTemplate): RegexRewrite {
  return { pattern: { regex: pathExpression(pattern).rewrite }, substitution: substitution(pattern, target) };
}

/** Envoy would leave the path as it is for a group that the pattern has not. */
function substitution(pattern: string, target: CapturingTemplate): string {
  const parsed = parsePattern(pattern);
  const groups = 'reason' in parsed ? 0 : parsed.captures;
  return target
    .map((part) => {
      if (typeof part === 'string') return part.replaceAll('\\', '\\\\');
      return 'capture' in part && part.capture <= groups ? `\\${part.capture}` : '';
    })
    .join('');
}

/** To the URL, with the query of the request. */
function redirect(route: RouteMessage, { pattern, target }: PathRewrite): RouteMessage {
  const url = urlTemplate(target);
  const { host, port } = (url && hostAndPort(url.authority)) ?? {};
  return withAction(route, {
    redirect: {
      response_code: RedirectStatus.FOUND,
      ...(url?.scheme !== undefined && { scheme_redirect: url.scheme }),
      ...(host !== undefined && { host_redirect: host }),
      ...(port !== undefined && { port_redirect: port }),
      regex_rewrite: pathRewrite(pattern, url === undefined || url.path.length === 0 ? ['/'] : url.path),
    },
  });
}

function withAction(route: RouteMessage, action: Partial<RouteMessage>): RouteMessage {
  const others = Object.entries(route).filter(([name]) => !['route', 'redirect', 'direct_response'].includes(name));
  return { ...Object.fromEntries(others), ...action } as RouteMessage;
}

function prefixHeader({ request_headers_to_add = [] }: RouteMessage, { pattern, forwardedPrefix }: PathRewrite) {
  if (forwardedPrefix === undefined) return {};
  const value = forwardedPrefix
    .map((part) =>
      typeof part === 'object' && 'capture' in part ? capturedText(pattern, part.capture) : formatString([part]),
    )
    .join('');
  return { request_headers_to_add: [...request_headers_to_add, overwrite('x-forwarded-prefix', value)] };
}

/** The Host that a backend gets; X-Forwarded-Host is set before. */
export const applyUpstreamHost: ApplyPolicy<Template> = (host, routes) =>
  changeForwards(routes, (action: RouteActionMessage, route) => ({
    ...keepsOriginal(route),
    route: { ...action, ...hostRewrite(host) } as RouteActionMessage,
  }));

function hostRewrite(host: Template) {
  const [only = '', ...others] = host;
  return others.length === 0 && typeof only === 'string'
    ? { host_rewrite_literal: only }
    : { host_rewrite: formatString(host) };
}
