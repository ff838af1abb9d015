import { describe, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import type { EndpointSlice, ServicePort } from '../cluster/objects.ts';
import { type Change, endpointSlice, externalName, ingress, remove, rule, service, World } from './testing.ts';

const generated = await makePair(['ingress.local']);
const all = ingress('shop/a', { rules: [rule('shop.example.com', { '/': 'web:80' })] });

/** The addresses of `shop/web/80` behind these Service ports and slices. */
function addressesOf(ports: readonly Partial<ServicePort>[], ...slices: EndpointSlice[]): string[] | undefined {
  const world = new World(generated);
  world.apply(all, service('shop/web', ports), ...slices);
  return world.addresses('shop/web/80');
}

const slice = (addresses: readonly string[], ports?: Record<string, number>, name = '1') =>
  endpointSlice(`shop/web-${name}`, 'web', addresses, ports);

describe('endpoints of a Service port', () => {
  test.each<[string, Partial<ServicePort>, EndpointSlice, string[]]>([
    [
      'the port of the same name',
      { name: 'http' },
      slice(['10.0.0.1'], { http: 8080, admin: 9090 }),
      ['10.0.0.1 8080'],
    ],
    [
      'every port without a name',
      {},
      slice(['10.0.0.1'], { http: 8080, admin: 9090 }),
      ['10.0.0.1 8080', '10.0.0.1 9090'],
    ],
    [
      'the numeric target port if no name fits',
      { name: 'http', targetPort: 8081 },
      slice(['10.0.0.1'], { x: 1 }),
      ['10.0.0.1 8081'],
    ],
    ['the numeric target port without ports', { targetPort: 8081 }, slice(['10.0.0.1'], {}), ['10.0.0.1 8081']],
    ['the Service port without a target port', { name: 'http' }, slice(['10.0.0.1'], {}), ['10.0.0.1 80']],
    ['nothing for a named target port', { name: 'http', targetPort: 'web' }, slice(['10.0.0.1'], {}), []],
  ])('%s', (_, port, one, expected) => {
    expect(addressesOf([port], one)).toEqual(expected);
  });

  test('ports of other protocols do not count', () => {
    const udp = { ...slice(['10.0.0.1']), ports: [{ name: '', port: 8080, protocol: 'UDP' }] };
    expect(addressesOf([{ targetPort: 'web' }], udp)).toEqual([]);
    expect(addressesOf([{ targetPort: 8081 }], udp)).toEqual([]);
  });

  test('several slices, both families, sorted and without duplicates', () => {
    const six: EndpointSlice = { ...slice(['2001:DB8::0:1'], undefined, '3'), addressType: 'IPv6' };
    expect(addressesOf([{}], slice(['10.0.0.2', '10.0.0.1']), slice(['10.0.0.1'], undefined, '2'), six)).toEqual([
      '10.0.0.1 8080',
      '10.0.0.2 8080',
      '2001:db8::1 8080',
    ]);
  });

  test('only ready endpoints count, terminating or not', () => {
    const endpoints = [
      { addresses: ['10.0.0.1'], ready: false, serving: true, terminating: true },
      { addresses: ['10.0.0.2'], ready: true, terminating: true },
    ];
    expect(addressesOf([{}], { ...slice([]), endpoints })).toEqual(['10.0.0.2 8080']);
  });

  test('slices of other Services and of none do not count', () => {
    expect(
      addressesOf([{}], endpointSlice('shop/x', 'x', ['10.0.0.1']), endpointSlice('shop/y', '', ['10.0.0.2'])),
    ).toEqual([]);
    expect(addressesOf([{}], endpointSlice('other/web-1', 'web', ['10.0.0.3']))).toEqual([]);
  });

  test('what is no IP address is left out and reported', () => {
    const world = new World(generated);
    world.apply(all, service('shop/web'), slice(['pod.example.com', '10.0.0.1']));
    expect(world.addresses('shop/web/80')).toEqual(['10.0.0.1 8080']);
    expect(world.complaints()).toEqual(['ObjectInvalid EndpointSlice shop/web-1 endpoints']);
  });

  test('come and go', () => {
    const world = new World(generated);
    const steps: [Change, string[] | undefined, string[]][] = [
      [all, [], ['ServiceNotFound Ingress shop/a spec.rules[0].http.paths[0].backend.service.name']],
      [service('shop/web'), [], ['ServiceWithoutEndpoints Service shop/web']],
      [slice(['10.0.0.1']), ['10.0.0.1 8080'], []],
      [slice(['10.0.0.2']), ['10.0.0.2 8080'], []],
      [remove(slice([])), [], ['ServiceWithoutEndpoints Service shop/web']],
      [remove(all), undefined, []],
    ];
    for (const [change, addresses, complaints] of steps) {
      world.apply(change);
      expect(world.addresses('shop/web/80')).toEqual(addresses);
      expect(world.complaints()).toEqual(complaints);
    }
  });
});

describe('addresses on this machine', () => {
  const here = (port: number) => [{ ip: '127.0.0.1', port }];

  test.each(['80', 'http'])('stand in for port %s instead of the cluster', (port) => {
    const world = new World(generated);
    world.state.localEndpoints.set(`shop/web/${port}`, { always: here(3000) });
    world.apply(all, service('shop/web', [{ name: 'http' }]), slice(['10.0.0.1'], { http: 8080 }));
    expect(world.addresses('shop/web/80')).toEqual(['127.0.0.1 3000']);
  });

  test('stand in where nothing is ready', () => {
    const world = new World(generated);
    world.state.localEndpoints.set('shop/web/80', { fallback: here(4000) });
    world.apply(all);
    expect(world.addresses('shop/web/80')).toEqual(['127.0.0.1 4000']);
    world.apply(service('shop/web'));
    expect(world.addresses('shop/web/80')).toEqual(['127.0.0.1 4000']);
    expect(world.complaints()).toEqual([]);
    world.apply(slice(['10.0.0.1']));
    expect(world.addresses('shop/web/80')).toEqual(['10.0.0.1 8080']);
  });

  test('stand in for a Service that does not exist, by the name in the Ingress', () => {
    const world = new World(generated);
    world.state.localEndpoints.set('shop/gone/http', { always: here(5000) });
    world.apply(ingress('shop/a', { rules: [rule('shop.example.com', { '/': 'gone:http' })] }));
    expect(world.addresses('shop/gone/http')).toEqual(['127.0.0.1 5000']);
  });
});

describe('clusters', () => {
  const to = (target: string) => ingress('shop/a', { rules: [rule('shop.example.com', { '/': target })] });

  test('exist exactly while a route refers to them', () => {
    const world = new World(generated);
    world.apply(to('web:80'), service('shop/web'), service('shop/idle'));
    expect([...world.model.clusters.keys()]).toEqual(['shop/web/80']);
    expect(world.model.clusters.get('shop/web/80')).toEqual({
      kind: 'endpoints',
      name: 'shop/web/80',
      endpoints: 'shop/web/80',
    });
    world.apply(to('idle:80'));
    expect([...world.model.clusters.keys()]).toEqual(['shop/idle/80']);
    expect([...world.model.endpoints.keys()]).toEqual(['shop/idle/80']);
  });

  test('of an external name are resolved by the proxy', () => {
    const world = new World(generated);
    world.apply(to('ext:443'), externalName('shop/ext', 'API.example.com.', [{ port: 443, targetPort: 8443 }]));
    expect(world.model.clusters.get('shop/ext/443')).toEqual({
      kind: 'dns',
      name: 'shop/ext/443',
      hostname: 'api.example.com.',
      port: 8443,
    });
    expect(world.model.endpoints.size).toBe(0);
  });

  test('of a name of the proxy itself have no endpoints', () => {
    const world = new World(generated);
    world.apply(to('ext:443'), externalName('shop/ext', '127.0.0.1'), endpointSlice('shop/ext-1', 'ext', ['10.0.0.1']));
    expect(world.model.clusters.get('shop/ext/443')).toMatchObject({ kind: 'endpoints' });
    expect(world.addresses('shop/ext/443')).toEqual([]);
  });

  test('of an external name may be stood in for on this machine', () => {
    const world = new World(generated);
    world.state.localEndpoints.set('shop/ext/443', { always: [{ ip: '127.0.0.1', port: 3000 }] });
    world.apply(to('ext:443'), externalName('shop/ext', 'api.example.com'));
    expect(world.addresses('shop/ext/443')).toEqual(['127.0.0.1 3000']);
  });

  test('change their kind with the Service', () => {
    const world = new World(generated);
    world.apply(to('web:80'), service('shop/web'));
    world.apply(externalName('shop/web', 'web.example.com', [{ port: 80 }]));
    expect(world.model.clusters.get('shop/web/80')).toMatchObject({ kind: 'dns' });
    world.apply(service('shop/web'));
    expect(world.model.clusters.get('shop/web/80')).toMatchObject({ kind: 'endpoints' });
  });
});
