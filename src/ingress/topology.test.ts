import { describe, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import type { EndpointSlice, Service } from '../cluster/objects.ts';
import { ingress, rule, service, World } from './testing.ts';

const generated = await makePair(['ingress.local']);
const AUTO = { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } };

/** `10.0.0.1: 'a'`: an endpoint for zone a; `''`: one without a hint. */
function slice(name: string, endpoints: Readonly<Record<string, string>>): EndpointSlice {
  return {
    kind: 'EndpointSlice',
    namespace: 'shop',
    name: `web-${name}`,
    creationTimestamp: 0,
    service: 'web',
    addressType: 'IPv4',
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    endpoints: Object.entries(endpoints).map(([address, zones]) => ({
      addresses: [address],
      ready: true,
      ...(zones !== '' && { forZones: zones.split(' ') }),
    })),
  };
}

/** Where a proxy in a zone sends requests for the Service. */
function served(zone: string | undefined, fields: Partial<Service>, ...slices: EndpointSlice[]): string[] | undefined {
  const world = new World(generated, zone === undefined ? {} : { zone });
  world.apply(
    ingress('shop/a', { rules: [rule('shop.example.com', { '/': 'web:80' })] }),
    service('shop/web', [{}], fields),
    ...slices,
  );
  return world.addresses('shop/web/80')?.map((address) => address.replace(' 8080', ''));
}

const both = slice('1', { '10.0.0.1': 'a', '10.0.0.2': 'b', '10.0.0.3': 'b c' });
const ALL = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];

describe('a Service that asks for endpoints near by', () => {
  test.each<[string, Partial<Service>]>([
    ['by its annotation', AUTO],
    ['in lower case', { annotations: { 'service.kubernetes.io/topology-mode': 'auto' } }],
    ['by the older annotation', { annotations: { 'service.kubernetes.io/topology-aware-hints': 'Auto' } }],
    ['by its distribution', { trafficDistribution: 'PreferClose' }],
    ['by its distribution, as newer versions call it', { trafficDistribution: 'PreferSameZone' }],
  ])('%s', (_, fields) => {
    expect(served('b', fields, both)).toEqual(['10.0.0.2', '10.0.0.3']);
  });

  test('gets all endpoints of a slice while one of them has no hint', () => {
    const partly = slice('2', { '10.0.1.1': 'a', '10.0.1.2': '' });
    expect(served('b', AUTO, both, partly)).toEqual(['10.0.0.2', '10.0.0.3', '10.0.1.1', '10.0.1.2']);
  });

  test('gets all endpoints if none is meant for the zone', () => {
    expect(served('z', AUTO, both)).toEqual(ALL);
  });

  test('gets all endpoints if none of those for the zone is ready', () => {
    const down = {
      ...both,
      endpoints: both.endpoints.map((one) => ({ ...one, ready: one.addresses[0] !== '10.0.0.1' })),
    };
    expect(served('a', AUTO, down)).toEqual(['10.0.0.2', '10.0.0.3']);
  });
});

describe('all endpoints serve', () => {
  test.each<[string, string | undefined, Partial<Service>]>([
    ['if the zone of the proxy is not known', undefined, AUTO],
    ['a Service that does not ask', 'b', {}],
    ['a Service that says no', 'b', { annotations: { 'service.kubernetes.io/topology-mode': 'Disabled' } }],
  ])('%s', (_, zone, fields) => {
    expect(served(zone, fields, both)).toEqual(ALL);
  });
});
