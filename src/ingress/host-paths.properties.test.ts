/**
 * Whatever paths Ingresses have: one that makes a host regular expressions takes no request from what protects it, but by a longer
 * expression of its own, or a path of another that is longer and says the request in another case. Compared are the routes of the same Ingresses with and without the annotation.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import type { Ingress } from '../cluster/objects.ts';
import type { PathMatch, Route } from '../model/proxy-model.ts';
import { canonicalPath } from './path-text.ts';
import { backend, ingress, World } from './testing.ts';

const generated = await makePair(['ingress.local']);
const host = 'shop.example.com';

interface TypedPath {
  readonly path: string;
  readonly pathType: string;
}

interface Tenant {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly paths: readonly TypedPath[];
}

const PREFIX = 'nginx.ingress.kubernetes.io';
const PROTECTED = { [`${PREFIX}/denylist-source-range`]: '0.0.0.0/0' };
const CAUSES = [{ [`${PREFIX}/use-regex`]: 'true' }, { [`${PREFIX}/rewrite-target`]: '/$1' }];

const segments = fc.array(fc.constantFrom('a', 'A', 'b', 'ab', 'a.b'), { maxLength: 2 });
const plain = fc.tuple(segments, fc.boolean()).map(([all, slash]) => `/${all.join('/')}${slash ? '/' : ''}`);
const normal = plain.map((path) => path.replaceAll(/\/+/g, '/'));
const encoded = fc.constantFrom('/%61', '/%61/', '/%61/b', '/%41');
const odd = fc.constantFrom('/a//', '/a/./b', '/%61/', '/a%2Fb', '/a+b', '/a$', '/a?b', '//', '/(a)');
const expression = fc.constantFrom('/.*', '/.', '/a.*', '/[ab]', '/(a|b)/', '/\\w', '/b|/a', '/A', '/a/', '/');
const pathType = fc.constantFrom('Prefix', 'Exact', 'ImplementationSpecific');
const pathsOf = (text: fc.Arbitrary<string>) =>
  fc.array(fc.record({ path: text, pathType }), { minLength: 1, maxLength: 3 });
const written = fc.oneof({ arbitrary: normal, weight: 8 }, { arbitrary: odd, weight: 1 });

const world = fc
  .record({
    secret: pathsOf(written),
    open: pathsOf(fc.oneof({ arbitrary: normal, weight: 8 }, { arbitrary: encoded, weight: 1 })),
    cause: pathsOf(fc.oneof(normal, expression)),
    annotations: fc.constantFrom(...CAUSES),
    order: fc.shuffledSubarray(['secret', 'open', 'cause'], { minLength: 3 }),
  })
  .map(({ secret, open, cause, annotations, order }): readonly Tenant[] => {
    const tenants: Record<string, Omit<Tenant, 'name'>> = {
      secret: { annotations: PROTECTED, paths: secret },
      open: { annotations: {}, paths: open },
      cause: { annotations, paths: cause },
    };
    return order.map((name) => ({ name, annotations: {}, paths: [], ...tenants[name] }));
  });

function routesOf(tenants: readonly Tenant[]): readonly Route[] {
  const made = new World(generated);
  made.apply(...tenants.map(ingressOf));
  return made.model.virtualHosts.get(host)?.routes ?? [];
}

/** Each is younger than the one before. */
function ingressOf({ name, annotations, paths }: Tenant, index: number): Ingress {
  return ingress(`${name}/${name}`, {
    creationTimestamp: index,
    annotations,
    rules: [{ host, paths: paths.map((path) => ({ ...path, backend: backend('web:80') })) }],
  });
}

function takes({ kind, path }: PathMatch, request: string, flags = 'is'): boolean {
  if (kind === 'regex') return new RegExp(`^${path.replaceAll('%61', 'a')}`, flags).test(request);
  return request === path || (kind === 'prefix' && request.startsWith(path === '/' ? path : `${path}/`));
}

/** Whether a path says what is requested, in any case. */
function says({ path, pathType: type }: TypedPath, request: string): boolean {
  const [said, asked] = [canonicalPath(path).toLowerCase(), request.toLowerCase()];
  return asked === said || (type !== 'Exact' && `${asked}/`.startsWith(`${said.replace(/\/$/, '')}/`));
}

/** Who answers, and by how long a path; `anyCase` where its path says that, but for the case of letters. */
function answerer(routes: readonly Route[], tenants: readonly Tenant[], request: string) {
  const route = routes.find(({ match }) => takes(match, request));
  const tenant = tenants.find(({ name }) => `${name}/${name}` === route?.origin?.ingress);
  const [, index = ''] = /paths\[(\d+)\]/.exec(route?.origin?.field ?? '') ?? [];
  const written = tenant?.paths[Number(index)];
  const path = canonicalPath(written?.path ?? '');
  const said = route?.match.path ?? '';
  return {
    name: tenant?.name,
    anyCase:
      route !== undefined && !takes(route.match, request, 's') && written !== undefined && says(written, request),
    length: (path === `${said}/` && said !== '/') || route?.match.kind === 'regex' ? path.length : said.length,
  };
}

test('what a path protects stays protected where another Ingress makes it a regular expression, but from longer expressions', () => {
  fc.assert(
    fc.property(world, fc.array(normal, { minLength: 8, maxLength: 8 }), (tenants, requests) => {
      const literal = routesOf(tenants.map((one) => (one.name === 'cause' ? { ...one, annotations: {} } : one)));
      const regex = routesOf(tenants);
      for (const request of requests) {
        const before = answerer(literal, tenants, request);
        const after = answerer(regex, tenants, request);
        const mayTake = after.length > before.length && (after.name === 'cause' || after.anyCase);
        if (before.name === 'secret' && after.name !== 'secret' && !mayTake)
          expect.fail(`${request} is answered by ${after.name}: ${regex.map(({ match }) => match.path).join(' ')}`);
      }
    }),
    { numRuns: 1000 },
  );
});
