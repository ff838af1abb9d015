/** What becomes of the path of a request before a backend sees it. */

import { parsePattern } from '../model/path-pattern.ts';
import type { CapturingTemplate, PathRewrite } from '../model/proxy-model.ts';
import { parseForRe2 } from '../model/re2-pattern.ts';
import { slashFirst } from '../model/slash-first.ts';
import { urlTemplate } from '../model/url-template.ts';
import type { ProxyName } from './declaration/support.ts';
import type { ServedIngress } from './served-ingress.ts';

/**
 * The target as it compares with paths: one with groups or variables equals none, so anything that no path is stands for it. `undefined`
 * where there is no target.
 */
export function literalTarget({ host: { rewrite } }: Pick<ServedIngress, 'host'>): string | undefined {
  return rewrite?.target?.map((part) => (typeof part === 'string' ? part : '\0')).join('');
}

/** The rewrite of a path that is one; `undefined` where the Ingress has no target. */
export function pathRewrite(
  { host: { rewrite } }: Pick<ServedIngress, 'host'>,
  pattern: string,
): PathRewrite | undefined {
  const { target, forwardedPrefix } = rewrite ?? {};
  if (target === undefined) return undefined;
  if (urlTemplate(target) !== undefined) return { pattern, target, redirects: true };
  return { pattern, target, ...(forwardedPrefix !== undefined && { forwardedPrefix }) };
}

/** What the proxy has no way to do with a pattern, or with its rewrite. */
export function patternProblem(
  pattern: string,
  rewrite: PathRewrite | undefined,
  proxy: ProxyName,
): string | undefined {
  if (proxy === 'nginx') return reasonOf(parsePattern(pattern));
  return reasonOf(parseForRe2(pattern)) ?? (rewrite && slashProblem(rewrite));
}

function reasonOf(parsed: { readonly reason: string } | object): string | undefined {
  return 'reason' in parsed ? `holds ${parsed.reason}` : undefined;
}

function slashProblem({ pattern, target, redirects }: PathRewrite): string | undefined {
  const capture = firstCapture(target);
  if (redirects || capture === undefined || slashFirst(pattern, capture) !== undefined) return undefined;
  return `is rewritten to what group $${capture} holds, of which nobody can tell whether it begins with /; write the / into rewrite-target`;
}

function firstCapture([first]: CapturingTemplate): number | undefined {
  return typeof first === 'object' && 'capture' in first ? first.capture : undefined;
}

/** The text with which all paths begin that a pattern matches; `/` where that is not known. */
export function literalBeginning(pattern: string): string {
  const parsed = parsePattern(pattern);
  const isBound = 'reason' in parsed ? !pattern.includes('|') : !parsed.alternatives;
  if (!isBound) return '/';
  // It has to be short enough to be a pattern itself.
  const [beginning = ''] = /^[\w/~@:;,=&-]{0,500}/.exec(pattern) ?? [];
  return /^[*?{]/.test(pattern.slice(beginning.length)) ? beginning.slice(0, -1) || '/' : beginning;
}
