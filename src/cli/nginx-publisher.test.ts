/** What changes at run time and what needs a configuration, and the order in which nginx gets both. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { changesOf } from '../../test/support/gateway.ts';
import { configMap, endpointSlice, ingress, type Manifest, service, tlsSecret } from '../../test/support/manifests.ts';
import { makePair, type Pair } from '../../test/support/pki.ts';
import { ClusterState } from '../cluster/cluster-state.ts';
import type { ObjectKind } from '../cluster/objects.ts';
import { Engine } from '../derive.ts';
import { createBuild } from '../ingress/build.ts';
import { defaultOptions } from '../ingress/testing.ts';
import { isDynamicConfigurationEnough } from '../nginx/dynamic.ts';
import { createNginxEmitter, NGINX } from '../nginx/emit.ts';
import type { NginxTarget } from '../nginx/publish.ts';
import { someNginx } from '../nginx/testing.ts';
import { createNginxPublication } from './nginx-publisher.ts';

const HOST = 'web.example.com';

let generated: Pair;
let own: Pair;
let rotated: Pair;
let world: ReturnType<typeof createWorld>;

beforeAll(async () => {
  [generated, own, rotated] = await Promise.all([makePair(['x']), makePair([HOST]), makePair([HOST])]);
});
beforeEach(async () => {
  world = createWorld();
  world.apply(web(), service('web'), service('other'), tlsSecret('own', own));
  world.apply(endpointSlice('web', ['10.0.0.1']), endpointSlice('other', ['10.0.0.9']));
  await done();
  world.inForce();
});

function createWorld() {
  const engine = new Engine();
  const state = new ClusterState(engine);
  const build = createBuild(engine, state, { ...defaultOptions(generated), tcpServices: 'ingress/tcp' });
  const emitter = createNginxEmitter(engine, build.model, {
    nginx: someNginx,
    ipv6: false,
    dynamic: true,
    luaFolder: '/lua',
    folder: '/run',
    resolvers: [],
  });
  /** What nginx was told, in this order. */
  const told: string[] = [];
  const asked: NginxTarget[] = [];
  const publication = createNginxPublication(emitter, {
    folder: '/run',
    publisher: {
      publish: async (target) => {
        told.push('configuration');
        asked.push(target);
      },
    },
    updater: {
      synced: true,
      update: async (change) => {
        // As long as it takes: what has to come later must wait.
        await done(3);
        for (const [part, values] of Object.entries(change)) {
          for (const [key, value] of values as ReadonlyMap<string, unknown>) {
            told.push(`${value === undefined ? '-' : '+'}${part} ${key}`);
          }
        }
      },
    },
  });
  const pass = () => publication.publish(engine.pass());
  return {
    told,
    publication,
    config: () => emitter.config.get(NGINX)!,
    apply: (...manifests: readonly Manifest[]) => {
      state.apply(changesOf(manifests));
      return pass();
    },
    remove: (kind: ObjectKind, name: string) => {
      state.apply([{ remove: { kind, name, namespace: 'default' } }]);
      return pass();
    },
    asked,
    /** What was asked for last is in force; what nginx was told so far is forgotten. */
    inForce: () => {
      const target = asked.at(-1);
      if (target !== undefined) publication.loaded(target);
      told.splice(0);
    },
  };
}

function web(more: { readonly path?: string; readonly service?: string; readonly tls?: boolean } = {}): Manifest {
  const { path = '/', service = 'web:80', tls = true } = more;
  return ingress({
    name: 'web',
    rules: [{ host: HOST, paths: [{ path, service }] }],
    ...(tls && { tls: [{ hosts: [HOST], secretName: 'own' }] }),
  });
}

/** What was asked for is done in microtasks here. */
async function done(turns = 10): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await Promise.resolve();
}

describe('a configuration is needed', () => {
  const other = (host: string) => ingress({ name: 'other', rules: [{ host, paths: [{}] }] });
  it.each<[string, boolean, () => readonly Manifest[]]>([
    ['for endpoints that come', false, () => [endpointSlice('web', ['10.0.0.1', '10.0.0.2'])]],
    ['for endpoints that go', false, () => [endpointSlice('web', [])]],
    ['for a rotated certificate', false, () => [tlsSecret('own', rotated)]],
    ['for what is as it was', false, () => [web(), service('web')]],
    ['for objects that nobody refers to', false, () => [service('unused'), tlsSecret('unused', own)]],
    ['for another path', true, () => [web({ path: '/shop' })]],
    ['for another Service', true, () => [web({ service: 'other:80' })]],
    ['for another host', true, () => [other('other.example.com')]],
    ['for TCP', true, () => [configMap('tcp', { 9000: 'default/web:80' }, 'ingress')]],
  ])('%s: %s', (_, needed, change) => {
    const before = world.config();
    world.apply(...change());
    expect(isDynamicConfigurationEnough(before, world.config())).toBe(!needed);
  });

  it('where there is none', () => {
    expect(isDynamicConfigurationEnough(undefined, world.config())).toBe(false);
  });
});

describe('nginx is told', () => {
  it('of backends before the configuration that refers to them, and of those that go when it is in force', async () => {
    expect(world.apply(web({ service: 'other:80' }))).toBe(true);
    await done();
    expect(world.told).toEqual(['+backends default_other_80', 'configuration']);
    world.publication.loaded(world.asked.at(-1)!);
    await done();
    expect(world.told.slice(2)).toEqual(['-backends default_web_80']);
    expect([...world.publication.state().backends.keys()]).toEqual(['default_other_80']);
  });

  it('of nothing that goes while only a former configuration is in force', async () => {
    world.apply(web({ path: '/first' }));
    await done();
    const first = world.asked.at(-1)!;
    world.apply(web({ service: 'other:80' }));
    await done();
    world.publication.loaded(first);
    await done();
    expect(world.told.filter((line) => line.startsWith('-'))).toEqual([]);
    expect(world.publication.settled).toBe(false);
    expect(world.publication.state().backends.has('default_web_80')).toBe(true);
    world.publication.loaded(world.asked.at(-1)!);
    await done();
    expect(world.told.filter((line) => line.startsWith('-'))).toEqual(['-backends default_web_80']);
    expect(world.publication.settled).toBe(true);
  });

  it('of nothing that has come back before it went', async () => {
    world.apply(web({ service: 'other:80' }));
    world.apply(web());
    await done();
    world.publication.loaded(world.asked.at(-1)!);
    await done();
    expect(world.told.filter((line) => line.startsWith('-'))).toEqual(['-backends default_other_80']);
  });

  it('of a rotated certificate alone, and of names that have another one', async () => {
    world.apply(tlsSecret('own', rotated));
    await done();
    expect(world.told).toEqual([expect.stringMatching(/^\+certificates /)]);
    world.told.splice(0);
    world.remove('Secret', 'own');
    await done();
    expect(world.told.filter((line) => !line.startsWith('-'))).toEqual([]);
    expect(world.told).toEqual(expect.arrayContaining([`-names ${HOST}`]));
  });

  it('of nothing when nothing has changed', async () => {
    expect(world.apply(web())).toBe(false);
    await done();
    expect(world.told).toEqual([]);
  });
});
