import { describe, expect, it } from 'vitest';
import { createWorld, fillShop, ingress, keyOf, secret, service, slice } from '../../test/support/kubernetes-source.ts';
import type { RawObject } from './testing.ts';

describe('references', () => {
  it('hands a new Ingress over together with its Secret, which is read by a list', async () => {
    const world = await createWorld({ fill: fillShop, factor: 1 });
    world.api.put('Secret', secret('late'));
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    world.api.put('Ingress', ingress('late', 'late'));
    await world.settled();
    expect(world.batches).toHaveLength(2);
    expect(world.batches[1]?.map((change) => 'upsert' in change && keyOf(change.upsert))).toEqual([
      'Secret shop/late',
      'Ingress shop/late',
    ]);
    const read = world.api.requests.at(-1);
    expect(read).toMatchObject({
      path: '/api/v1/namespaces/shop/secrets',
      query: { fieldSelector: 'metadata.name=late' },
    });
    expect(world.api.count('list', 'Secret')).toBe(1);
  });

  it('holds only the Ingress that waits, and that for five seconds at most', async () => {
    const world = await createWorld({ fill: fillShop, factor: 4 });
    world.api.put('Secret', secret('late'));
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    const isByName = (fieldSelector = '') => fieldSelector.startsWith('metadata.name');
    let isHanging = true;
    world.api.misbehave = ({ query }) => (isHanging && isByName(query['fieldSelector']) ? { status: 500 } : undefined);
    world.api.put('Ingress', ingress('late', 'late'));
    world.api.put('Ingress', ingress('other'));
    await world.until(() => world.known.has('Ingress shop/other'), 'the other Ingress');
    expect(world.known.has('Ingress shop/late')).toBe(false);
    const version = world.api.put('Ingress', ingress('late', 'late'));
    await world.until(() => world.known.has('Ingress shop/late'), 'the Ingress without its Secret');
    expect(world.known.get('Ingress shop/late')).toBe(version);
    expect(world.known.has('Secret shop/late')).toBe(false);
    isHanging = false;
    await world.settled();
  });

  it('lets an Ingress through whose Secret does not exist, and brings the Secret when it does', async () => {
    const world = await createWorld({ fill: fillShop });
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    world.api.put('Ingress', ingress('late', 'late'));
    await world.settled();
    world.api.put('Secret', secret('late'));
    await world.settled();
    expect(world.events.filter(({ type }) => type === 'read')).toHaveLength(1);
  });

  it('forgets a Secret with the last reference, and reads it again for a new one', async () => {
    const world = await createWorld({ fill: fillShop });
    world.api.put('Ingress', ingress('second', 'tls'));
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    world.api.remove('Ingress', 'shop', 'web');
    await world.settled();
    world.api.put('Ingress', ingress('second'));
    await world.settled('Secret shop/tls');
    world.api.put('Secret', secret('tls'));
    world.api.put('Ingress', ingress('second', 'tls'));
    await world.settled();
  });

  it('keeps what flags name, wherever it is', async () => {
    const named = [
      { kind: 'Secret', namespace: 'system', name: 'default' },
      { kind: 'ConfigMap', namespace: 'system', name: 'options' },
      { kind: 'Service', namespace: 'system', name: 'backend' },
    ];
    const world = await createWorld({
      namespace: 'shop',
      named,
      fill: (api) => {
        fillShop(api);
        api.put('Secret', secret('default', 'system'));
        api.put('Secret', secret('other', 'system'));
        api.put('ConfigMap', { metadata: { namespace: 'system', name: 'options' }, data: { a: 'b' } });
        api.put('Service', service('other', 'system'));
        api.put('EndpointSlice', slice('backend-1', 'backend', 'system'));
        api.put('EndpointSlice', slice('other-1', 'other', 'system'));
        api.put('Ingress', ingress('foreign', undefined, 'elsewhere'));
      },
    });
    const absent = [
      'Secret system/other',
      'Service system/other',
      'EndpointSlice system/other-1',
      'Ingress elsewhere/foreign',
    ];
    await world.source.start();
    await world.settled(...absent);
    expect(world.api.requests.every(({ namespace, kind }) => namespace !== undefined || kind === 'IngressClass')).toBe(
      true,
    );
    world.api.put('Service', service('backend', 'system'));
    world.api.put('Secret', secret('default', 'system'));
    await world.settled(...absent);
    world.api.remove('ConfigMap', 'system', 'options');
    world.api.put('EndpointSlice', slice('backend-2', 'backend', 'system'));
    world.api.remove('EndpointSlice', 'system', 'backend-1');
    await world.settled(...absent);
  });
});

describe('namespace selector', () => {
  const namespace = (name: string, team?: string): RawObject => ({
    metadata: { name, ...(team !== undefined && { labels: { team } }) },
  });

  it('brings and removes the objects of namespaces that start or cease to match', async () => {
    const world = await createWorld({
      namespaceSelector: 'team=a',
      named: [{ kind: 'Service', namespace: 'other', name: 'backend' }],
      fill: (api) => {
        fillShop(api);
        api.put('Namespace', namespace('shop', 'a'));
        api.put('Namespace', namespace('other', 'b'));
        api.put('Ingress', ingress('web', 'tls', 'other'));
        api.put('Secret', secret('tls', 'other'));
        api.put('Service', service('backend', 'other'));
        api.put('EndpointSlice', slice('backend-1', 'backend', 'other'));
        api.put('EndpointSlice', slice('web-1', 'web', 'other'));
      },
    });
    const namespaces = ['Namespace shop', 'Namespace other'];
    await world.source.start();
    const other = ['Ingress other/web', 'Secret other/tls', 'EndpointSlice other/web-1'];
    await world.settled(...namespaces, ...other);
    world.api.put('Namespace', namespace('other', 'a'));
    await world.settled(...namespaces);
    world.api.put('Namespace', namespace('shop', 'b'));
    await world.settled(...namespaces, 'Ingress shop/web', 'Secret shop/tls', 'Service shop/web');
    world.api.put('Service', service('web'));
    world.api.remove('Namespace', '', 'other');
    await world.settled(...namespaces, ...other, 'Ingress shop/web', 'Secret shop/tls', 'Service shop/web');
    world.api.remove('EndpointSlice', 'other', 'backend-1');
    await world.settled(...namespaces, ...other, 'Ingress shop/web', 'Secret shop/tls', 'Service shop/web');
    expect(world.known.has('Service other/backend')).toBe(true);
    for (const kind of ['Ingress', 'Secret', 'Service', 'Namespace'] as const) {
      expect(world.api.count('list', kind), kind).toBe(1);
    }
  });

  it('takes Secrets of other namespaces with their namespace, also those that a served Ingress refers to', async () => {
    const world = await createWorld({
      namespaceSelector: 'team=a',
      fill: (api) => {
        fillShop(api);
        api.put('Namespace', namespace('shop', 'a'));
        api.put('Namespace', namespace('other', 'b'));
        api.put('Ingress', ingress('borrower', 'other.tls'));
        api.put('Secret', secret('tls', 'other'));
      },
    });
    const namespaces = ['Namespace shop', 'Namespace other'];
    await world.source.start();
    await world.settled(...namespaces, 'Secret other/tls');
    world.api.put('Namespace', namespace('other', 'a'));
    await world.settled(...namespaces);
    world.api.put('Secret', secret('tls', 'other'));
    await world.settled(...namespaces);
    world.api.put('Namespace', namespace('other', 'b'));
    await world.settled(...namespaces, 'Secret other/tls');
    expect(world.known.has('Ingress shop/borrower')).toBe(true);
  });
});
