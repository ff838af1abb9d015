import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Route } from '../model/proxy-model.ts';
import { type HostView, httpView, type RouteView } from './http-view.ts';
import { forward, host, respond, TO_HTTPS } from './testing.ts';

/** `path → action` of every route of the view, in order. */
function shown(...routes: Route[]): string[] | 'same' {
  const view = httpView(host('shop.example.com', ...routes));
  return view === 'same' ? view : view.routes.map((route) => `${describePath(route)} → ${describeAction(route)}`);
}

function describePath({ match }: RouteView): string {
  return match.kind === 'exact' ? `=${match.path}` : match.path;
}

function describeAction({ action }: RouteView): string {
  if (action.kind === 'forward') return action.cluster.service;
  return `${action.status}`;
}

describe('the http table', () => {
  test('shows a host without redirects as it is', () => {
    expect(shown(forward('/api', 'api'), respond('/', 404))).toBe('same');
  });

  test('shows one redirect for all paths', () => {
    expect(
      shown(forward('=/login', 'auth', TO_HTTPS), forward('/api', 'api', TO_HTTPS), forward('/', 'web', TO_HTTPS)),
    ).toEqual(['/ → 308']);
  });

  test('leaves a denied path in place of the redirect', () => {
    expect(shown(respond('/admin', 503), forward('/', 'web', TO_HTTPS))).toEqual(['/admin → 503', '/ → 308']);
  });

  test('keeps the order where redirects stand before a denied path', () => {
    expect(
      shown(
        forward('/a/b', 'b', TO_HTTPS),
        respond('/a', 503),
        forward('/c', 'c', TO_HTTPS),
        respond('/', 404, '', TO_HTTPS),
      ),
    ).toEqual(['/a/b → 308', '/a → 503', '/ → 308']);
  });

  test('does not merge redirects that no route for every path follows', () => {
    expect(shown(forward('/a', 'a', TO_HTTPS), forward('/b', 'b', TO_HTTPS), respond('/', 404))).toEqual([
      '/a → 308',
      '/b → 308',
      '/ → 404',
    ]);
  });

  test('keeps the limit of bodies of a redirect, and merges none with another', () => {
    const large = { ...TO_HTTPS, bodySize: { maxBytes: 8 * 1024 ** 2 } };
    const view = httpView(host('shop.example.com', forward('/a', 'a', TO_HTTPS), forward('/', 'web', large)));
    expect(view).toMatchObject({
      routes: [
        { match: { path: '/a' }, action: { kind: 'https-redirect' } },
        { match: { path: '/' }, action: { kind: 'https-redirect' }, policy: { bodySize: { maxBytes: 8 * 1024 ** 2 } } },
      ],
    });
    expect(shown(forward('/a', 'a', large), forward('/', 'web', large))).toEqual(['/ → 308']);
  });

  test('does not merge redirects with different statuses', () => {
    const found = { httpsRedirect: { status: 302 } } as const;
    expect(shown(forward('/a', 'a', found), forward('/', 'web', TO_HTTPS))).toEqual(['/a → 302', '/ → 308']);
  });

  test('is equal after an edit that only https shows', () => {
    const before = httpView(host('a', forward('/', 'web', TO_HTTPS)));
    const moved = {
      ...forward('/', 'web', TO_HTTPS),
      origin: { ingress: 'shop/web', field: 'spec.rules[0].http.paths[1]' },
    };
    expect(httpView(host('a', forward('/new', 'new', TO_HTTPS), moved))).toEqual(before);
  });
});

describe('for any routes and path', () => {
  const paths = ['/', '/a', '/a/b', '/b', '/ab'];
  const anyRoute = fc
    .record({
      path: fc.constantFrom(...paths),
      exact: fc.boolean(),
      service: fc.constantFrom('s', 't'),
      redirects: fc.boolean(),
    })
    .map(({ path, exact, service, redirects }) =>
      forward(exact ? `=${path}` : path, service, redirects ? TO_HTTPS : {}),
    );

  test('the view answers what the host says, with the redirect where the route has one', () => {
    fc.assert(
      fc.property(
        fc.array(anyRoute, { maxLength: 6 }),
        fc.boolean(),
        fc.constantFrom(...paths, '/zzz'),
        (some, last, path) => {
          const routes = [...some, forward('/', 'last', last ? TO_HTTPS : {})];
          const virtualHost = host('h', ...routes);
          const view = httpView(virtualHost);
          const original = routes.find((route) => matches(route, path))!;
          const redirects = original.policy.httpsRedirect !== undefined;
          const answer = answering(view === 'same' ? virtualHost : view, path);
          expect(answer?.action).toEqual(redirects ? { kind: 'https-redirect', status: 308 } : original.action);
        },
      ),
    );
  });

  function answering(view: HostView, path: string): RouteView | undefined {
    return view.routes.find((route) => matches(route, path));
  }

  function matches({ match }: Pick<Route, 'match'>, path: string): boolean {
    if (match.kind === 'exact') return path === match.path;
    return match.path === '/' || path === match.path || path.startsWith(`${match.path}/`);
  }
});
