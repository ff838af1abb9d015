import { expect, test } from 'vitest';
import type { Route, RoutePolicy } from '../model/proxy-model.ts';
import { encode } from './codec.ts';
import { forward, host, respond } from './testing.ts';
import { checkHost } from './validate.ts';

const longBody = 'x'.repeat(4097);

/** Those of the view, not what is put before them. */
function routesOf(...routes: Route[]) {
  const { message } = checkHost(host('shop.example.com', ...routes));
  return message.routes
    ?.filter(({ match }) => match?.safe_regex === undefined)
    .map(({ match, route, direct_response }) => [
      match?.path_separated_prefix ?? match?.path ?? match?.prefix,
      route?.cluster ?? direct_response?.status,
    ]);
}

test('a sound host is sent as it is, without a word', () => {
  expect(routesOf(forward('/api', 'api'), respond('/', 404))).toEqual([
    ['/api', 'shop/api/80'],
    ['/', 404],
  ]);
  expect(checkHost(host('shop.example.com', forward('/api', 'api'))).diagnostics).toEqual([]);
});

test('a fault in an action makes that route answer 503 in its place', () => {
  const faulty = {
    ...respond('/big', 200, longBody),
    origin: { ingress: 'shop/big', field: 'spec.rules[0].http.paths[0]' },
  };
  expect(routesOf(forward('/api', 'api'), faulty, respond('/', 404))).toEqual([
    ['/api', 'shop/api/80'],
    ['/big', 503],
    ['/', 404],
  ]);
  expect(checkHost(host('shop.example.com', faulty)).diagnostics).toEqual([
    {
      severity: 'error',
      code: 'ResourceInvalid',
      message:
        'path /big of host shop.example.com answers 503: Envoy would refuse direct_response.body (a body has at most 4096 bytes)',
      ref: { kind: 'Ingress', namespace: 'shop', name: 'big' },
      field: 'spec.rules[0].http.paths[0]',
    },
  ]);
});

test.each(['/foo/', 'foo'])('a match that Envoy refuses, %s, makes the whole host answer 503', (path) => {
  expect(routesOf(forward(path, 'api'), forward('/', 'web'))).toEqual([['/', 503]]);
  const { diagnostics } = checkHost(host('shop.example.com', forward(path, 'api'), forward('/', 'web')));
  expect(diagnostics).toHaveLength(1);
  expect(diagnostics[0]).toMatchObject({
    code: 'ResourceInvalid',
    ref: { kind: 'Ingress', namespace: 'shop', name: 'api' },
  });
  expect(diagnostics[0]?.message).toContain(`path ${path} of host shop.example.com answers 503`);
});

test('faults are attributed to the routes of the default host too, which has a route of its own in front', () => {
  const { message, diagnostics } = checkHost(host('*', respond('/ok', 200), respond('/big', 200, longBody)));
  expect(message.routes?.map(({ direct_response }) => direct_response?.status)).toEqual([400, 200, 503]);
  expect(diagnostics[0]?.message).toContain('path /big of host *');
  expect(checkHost(host('*', forward('/foo/', 'web'))).diagnostics[0]?.message).toContain('path /foo/ of host *');
});

test('a host name that no request can carry is not sent at all', () => {
  expect(() => checkHost(host('a\nb', forward('/', 'web')))).toThrow(/host a\nb would be refused by Envoy: domains/);
});

test('of long lists of several Ingresses of a host one stands there once; what the others add up to is limited', () => {
  const listed = (count: number, from: string) => ({
    addresses: {
      allow: Array.from({ length: count }, (_, index) => `${from}.${index >> 8}.${index & 255}.0/24`),
      deny: [],
    },
  });
  const paths = (name: string, count: number, policy: RoutePolicy) =>
    Array.from({ length: count }, (_, index) => forward(`/${name}-${index}`, name, policy));
  const [shared, long, short] = [listed(2_000, '10'), listed(1_000, '11'), listed(100, '12')];
  const fits = host('shop.example.com', ...paths('a', 40, shared), ...paths('c', 30, short));
  expect(checkHost(fits).diagnostics).toEqual([]);
  const { message, diagnostics } = checkHost({
    ...fits,
    routes: [...paths('a', 40, shared), ...paths('b', 60, long), ...paths('c', 30, short)],
  });
  expect(diagnostics).toMatchObject([
    {
      ref: { kind: 'Ingress', namespace: 'shop', name: 'b' },
      message:
        'path /b-0 of host shop.example.com and 59 more with the same settings answer 503: such lists on so many paths are too much beside those of another Ingress of the host',
    },
  ]);
  const statuses = (message.routes ?? []).flatMap(({ match, direct_response }) =>
    match?.path_separated_prefix
      ? [`${match.path_separated_prefix.slice(1, 2)} ${direct_response?.status ?? 'open'}`]
      : [],
  );
  expect([...new Set(statuses)]).toEqual(['a open', 'b 503', 'c open']);
  expect(encode('envoy.config.route.v3.VirtualHost', message).length).toBeLessThan(500_000);
});
