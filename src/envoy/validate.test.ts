import { expect, test } from 'vitest';
import type { Route } from '../model/proxy-model.ts';
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
