/**
 * Paths in other spellings. nginx decodes a path before it looks for the location, and so do many backends; Envoy compares most
 * encoded characters as they are written (`%2F`, `%40`, or `%c3` beside `%C3`). Where protected paths stand beside others, another
 * spelling of one must not reach a path that is protected less.
 */
import type {
  envoy_config_route_v3_RouteMatch as RouteMatch,
  envoy_config_route_v3_Route as RouteMessage,
} from '../gen/messages.ts';
import { PROTECTIVE_POLICIES } from '../model/protective-policies.ts';
import type { PathMatch, RoutePolicy } from '../model/proxy-model.ts';
import type { RouteView } from './http-view.ts';
import { atLeastEverySpelling, hexOf, manifoldCodes } from './path-spelling.ts';
import { oncePer } from './policies/policy.ts';

export interface Spelling {
  readonly message: RouteMessage;
  /** Index of the route that it spells; absent for what stands for none of them. */
  readonly of?: number;
}

/**
 * To stand before the routes of the host: what is answered to the other spellings of protected paths, and of the paths below them, is
 * what is answered to the paths themselves. None where all backends of the host are protected alike.
 * @param messagesOf the messages of a route
 */
export function otherSpellings(
  routes: readonly RouteView[],
  messagesOf: (route: number) => readonly RouteMessage[],
): Spelling[] {
  const protections = routes.map(protectionOf);
  const ofBackends = new Set(protections.filter((_, index) => routes[index]?.action.kind === 'forward'));
  const isProtected = (index: number) =>
    protections[index] !== OPEN && (ofBackends.size > 1 || isClosed(routes[index]));
  const below = pathsBelow(routes, isProtected);
  if (ofBackends.size === 0 || !routes.some((_, index) => isProtected(index))) return [];
  // Regular expressions take every spelling themselves.
  const spelt = routes.flatMap(({ match }, of) => (match.kind !== 'regex' && below(match) ? [{ match, of }] : []));
  const headers = [encodes(spelt.map(({ match }) => match))];
  return [
    { message: AMBIGUOUS },
    ...spelt.flatMap(({ match, of }) =>
      messagesOf(of).map((message) => ({ message: { ...message, match: respelt(message.match, match, headers) }, of })),
    ),
  ];
}

const OPEN = 'open';
const CLOSED = 'closed';

/** Equal for routes that are protected alike. */
function protectionOf(route: RouteView): string {
  if (isClosed(route)) return CLOSED;
  return route.policy === undefined ? OPEN : protectionBy(route.policy);
}

const protectionBy = oncePer((policy: RoutePolicy): string => {
  const protections = PROTECTIVE_POLICIES.map((name) => policy[name]);
  return protections.every((protection) => protection === undefined) ? OPEN : JSON.stringify(protections);
});

const UNAVAILABLE = 503;

function isClosed(route: RouteView | undefined): boolean {
  return route?.action.kind === 'respond' && route.action.status === UNAVAILABLE;
}

/** Whether a path is protected, or below one that is. All are below the root, whose spellings need no route. */
function pathsBelow(routes: readonly RouteView[], isProtected: (index: number) => boolean) {
  const prefixes = new Set<string>();
  const exact = new Set<string>();
  routes.forEach(({ match: { kind, path } }, index) => {
    if (path !== '/' && kind !== 'regex' && isProtected(index)) (kind === 'exact' ? exact : prefixes).add(path);
  });
  return ({ kind, path }: PathMatch): boolean => {
    if (kind === 'exact' && exact.has(path)) return true;
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
      if (prefixes.has(path.slice(0, end))) return true;
    }
    return false;
  };
}

/** The match of a message with every spelling of its path instead of the path. */
function respelt(written: RouteMatch | undefined, match: PathMatch, headers: NonNullable<RouteMatch['headers']>) {
  const { prefix, path, path_separated_prefix, safe_regex, connect_matcher, path_match_policy, ...rest } = written ?? {
    prefix: '/',
  };
  return {
    ...rest,
    safe_regex: { regex: atLeastEverySpelling(match, SEPARATOR) },
    headers: [...(written?.headers ?? []), ...headers],
  } satisfies RouteMatch;
}

/** An encoded slash or backslash beside nothing or a dot element: what it means depends on who decodes it, and when. */
const AMBIGUOUS: RouteMessage = {
  match: {
    safe_regex: {
      regex:
        '(?i).*(?:/|%2f|%5c)(?:\\.|%2e){0,2}(?:;[^/]*)?(?:%2f|%5c).*|(?i).*(?:%2f|%5c)(?:\\.|%2e){0,2}(?:;[^/]*)?(?:(?:/|%2f|%5c).*)?',
    },
  },
  direct_response: { status: 400 },
};

const SEPARATOR = '(?:/|%2[fF]|%5[cC])';
/** Holds for targets that encode, before the query, a separator or a character of the paths. */
function encodes(matches: readonly PathMatch[]) {
  const codes = new Set([0x2f, 0x5c, ...matches.flatMap(({ path }) => manifoldCodes(path))]);
  const hex = [...codes].sort((a, b) => a - b).map(hexOf);
  return { name: ':path', string_match: { safe_regex: { regex: `[^?]*%(?i:${hex.join('|')}).*` } } };
}
