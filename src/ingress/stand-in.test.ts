import { beforeEach, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import { endpointSlice, externalName, ingress, rule, service, World } from './testing.ts';

const KEY = 'nginx.ingress.kubernetes.io/default-backend';

let world: World;

beforeEach(async () => {
  world = new World(await makePair(['ingress.local']));
  world.apply(
    service('shop/web', [{ port: 80, name: 'http' }]),
    service('shop/sorry', [{ port: 8080 }]),
    ingress('shop/web', {
      annotations: { [KEY]: 'sorry' },
      rules: [rule('a.example.com', { '/': 'web:http' })],
    }),
  );
});

const ready = (...addresses: string[]) => endpointSlice('shop/web-a', 'web', addresses, { http: 8080 });

test('stands in as long as there is no endpoint', () => {
  expect(world.routes('a.example.com')).toEqual(['prefix / → shop/sorry/8080']);
  expect(world.model.virtualHosts.get('a.example.com')?.routes[0]?.policy).toEqual({
    standsInFor: { namespace: 'shop', ingress: 'web', service: 'web', port: 'http' },
  });
  world.apply(ready('10.0.0.1'));
  expect(world.routes('a.example.com')).toEqual(['prefix / → shop/web/80']);
  expect(world.model.virtualHosts.get('a.example.com')?.routes[0]?.policy).toEqual({});
  world.apply(ready());
  expect(world.routes('a.example.com')).toEqual(['prefix / → shop/sorry/8080']);
});

test('endpoints that come and go beside others move no host', () => {
  world.apply(ready('10.0.0.1'));
  const runs = world.runsOf(() => world.apply(ready('10.0.0.1', '10.0.0.2')));
  expect(runs).not.toHaveProperty('virtual-host');
  expect(runs).not.toHaveProperty('served-ingress');
});

test('a Service outside of the cluster has what it needs, if its name can be resolved', () => {
  world.apply(externalName('shop/web', 'web.example.org', [{ port: 80, name: 'http' }]));
  expect(world.routes('a.example.com')).toEqual(['prefix / → shop/web/80']);
  world.apply(externalName('shop/web', 'not a name', [{ port: 80, name: 'http' }]));
  expect(world.routes('a.example.com')).toEqual(['prefix / → shop/sorry/8080']);
});

test('one that does not exist is told, and comes to its place later', () => {
  world.apply({ remove: { kind: 'Service', namespace: 'shop', name: 'sorry' } });
  expect(world.routes('a.example.com')).toEqual(['prefix / → shop/web/80']);
  expect(world.complaints()).toContain(`AnnotationInvalid Ingress shop/web metadata.annotations["${KEY}"]`);
  world.apply(service('shop/sorry', [{ port: 9090 }]));
  expect(world.routes('a.example.com')).toEqual(['prefix / → shop/sorry/9090']);
});

test('what no path takes has one too', () => {
  world.apply(
    ingress('shop/web', {
      annotations: { [KEY]: 'sorry' },
      rules: [rule('a.example.com', {})],
      defaultBackend: { service: { name: 'web', port: { number: 80 } } },
    }),
  );
  expect(world.routes('a.example.com')).toEqual(['prefix / → shop/sorry/8080']);
});
