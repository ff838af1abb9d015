import { describe, expect, it } from 'vitest';
import { createWorld, fillShop } from '../../test/support/kubernetes-source.ts';
import type { ConfigMap } from '../cluster/objects.ts';
import { type ObjectRef, objectRef } from '../model/object-ref.ts';
import type { FakeApiServer, RawObject } from './testing.ts';

function configMap(name: string, data: Record<string, string>, namespace = 'system'): RawObject {
  return { metadata: { namespace, name }, data };
}

/** Its values are the keys of what it refers to. */
function referencesOfNamed({ data }: ConfigMap): readonly ObjectRef[] {
  return Object.values(data).map((key) => objectRef('ConfigMap', key));
}

const named = [objectRef('ConfigMap', 'system/config')];

function fill(api: FakeApiServer): void {
  fillShop(api);
  api.put('ConfigMap', configMap('config', { headers: 'system/headers' }));
  api.put('ConfigMap', configMap('headers', { 'X-A': '1' }));
  api.put('ConfigMap', configMap('other', { 'X-B': '1' }));
  api.put('ConfigMap', configMap('unwanted', { 'X-C': '1' }));
}

const UNWANTED = ['ConfigMap system/other', 'ConfigMap system/unwanted'];

describe.each([
  ['in a namespace that is watched', {}],
  ['in another namespace than the one that is watched', { namespace: 'shop' }],
  ['in a namespace that no selector takes', { namespaceSelector: 'team=shop' }],
] as const)('what a named ConfigMap refers to, %s', (_, scope) => {
  const start = async (factor?: number) => {
    const world = await createWorld({
      fill: (api) => {
        fill(api);
        api.put('Namespace', { metadata: { name: 'shop', labels: { team: 'shop' } } });
        api.put('Namespace', { metadata: { name: 'system' } });
      },
      named,
      referencesOfNamed,
      ...scope,
      ...(factor !== undefined && { factor }),
    });
    return { world, names: () => [...world.known.keys()].filter((key) => key.startsWith('ConfigMap')).sort() };
  };

  it('comes with it, in the first batch', async () => {
    const { world, names } = await start();
    await world.source.start();
    expect(world.batches).toHaveLength(1);
    expect(names()).toEqual(['ConfigMap system/config', 'ConfigMap system/headers']);
  });

  it('is followed, and replaced together with the reference', async () => {
    const { world, names } = await start(1);
    await world.source.start();
    const watched = 'system/headers, at its next version';
    await world.until(() => world.api.watches.size >= 6, 'all watches');
    const version = world.api.put('ConfigMap', configMap('headers', { 'X-A': '2' }));
    await world.until(() => world.known.get('ConfigMap system/headers') === version, watched);
    world.api.put('ConfigMap', configMap('config', { headers: 'system/other' }));
    await world.until(() => names().join() === 'ConfigMap system/config,ConfigMap system/other', 'the other one alone');
    const order = world.batches.flat().map((change) => ('upsert' in change ? change.upsert : change.remove).name);
    expect(order.slice(-3)).toEqual(['other', 'config', 'headers']);
    const next = world.api.put('ConfigMap', configMap('other', { 'X-B': '2' }));
    await world.until(() => world.known.get('ConfigMap system/other') === next, 'the other one, at its next version');
    world.api.remove('ConfigMap', 'system', 'config');
    await world.until(() => names().length === 0, 'nothing of it');
  });

  it('is waited for in vain if it does not exist', async () => {
    const { world, names } = await start();
    world.api.remove('ConfigMap', 'system', 'headers');
    await world.source.start();
    expect(names()).toEqual(['ConfigMap system/config']);
    await world.until(() => world.api.watches.size >= 6, 'all watches');
    world.api.put('ConfigMap', configMap('headers', {}));
    await world.until(() => names().length === 2, 'what has come to exist');
  });
});

it('serves everything else where what a ConfigMap refers to may not be read', async () => {
  const world = await createWorld({ fill, named, referencesOfNamed, namespace: 'shop' });
  world.api.misbehave = ({ query }) =>
    query['fieldSelector'] === 'metadata.name=headers' ? { status: 403 } : undefined;
  await world.source.start();
  expect(world.known.has('ConfigMap system/config')).toBe(true);
  expect(world.known.has('Ingress shop/web')).toBe(true);
  expect(UNWANTED.some((key) => world.known.has(key))).toBe(false);
});
