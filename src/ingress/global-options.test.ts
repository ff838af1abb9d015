import { beforeEach, describe, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import { SETTINGS } from '../model/settings.ts';
import { configMap, ingress, remove, rule, service, World } from './testing.ts';

const generated = await makePair(['ingress.local']);
const HOST = 'shop.example.com';
const CONFIG = 'ingress/config';

let world: World;
beforeEach(() => {
  world = start();
});

function start(): World {
  const made = new World(generated, { configMap: CONFIG });
  made.apply(service('shop/web', [{ port: 80 }]), ingress('shop/web', { rules: [rule(HOST, { '/': 'web:80' })] }));
  return made;
}

const OPEN = ['prefix / → shop/web/80'];
const CLOSED = ['prefix / → 503'];
const write = (data: Readonly<Record<string, string>>) => world.apply(configMap(CONFIG, data));
const blocked = () => world.model.settings.get(SETTINGS)?.blocked.networks;
const allowed = () => world.model.virtualHosts.get(HOST)?.routes[0]?.policy.addresses?.allow;
const held = () => world.build.held().map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
const told = () => world.diagnostics().filter(({ ref }) => ref?.kind === 'ConfigMap');

describe('a key that protects and cannot be read', () => {
  test('closes every path where there never was a good value', () => {
    write({ 'block-cidrs': 'bad' });
    expect(world.routes(HOST)).toEqual(CLOSED);
    expect(held()).toEqual([]);
    expect(told().map(({ code }) => code)).toEqual(['ProtectionUnavailable']);
  });

  test('leaves the last good value in force, and says so', () => {
    write({ 'block-cidrs': '10.0.0.0/8', 'whitelist-source-range': '192.0.2.1' });
    write({ 'block-cidrs': '10.0.0.0/80', 'whitelist-source-range': 'example.com' });
    expect(world.routes(HOST)).toEqual(OPEN);
    expect(blocked()).toEqual(['10.0.0.0/8']);
    expect(allowed()).toEqual(['192.0.2.1/32']);
    expect(held()).toEqual([`ConfigMap ${CONFIG}`]);
    expect(told().map(({ severity, code, message }) => [severity, code, message])).toContainEqual([
      'error',
      'ConfigMapKeyInvalid',
      expect.stringMatching(/^"10\.0\.0\.0\/80" .*; "10\.0\.0\.0\/8", the last good value, stays in force$/),
    ]);
  });

  test('again and again, beside keys that change', () => {
    write({ 'block-cidrs': '10.0.0.0/8' });
    write({ 'block-cidrs': 'bad' });
    write({ 'block-cidrs': 'worse', hsts: 'false' });
    expect(blocked()).toEqual(['10.0.0.0/8']);
    expect(world.routes(HOST)).toEqual(OPEN);
  });

  test('until it can be read', () => {
    write({ 'block-cidrs': '10.0.0.0/8' });
    write({ 'block-cidrs': 'bad' });
    write({ 'block-cidrs': '192.0.2.0/24' });
    expect(blocked()).toEqual(['192.0.2.0/24']);
    expect(held()).toEqual([]);
  });

  test.each([
    ['the key', () => write({})],
    ['the ConfigMap', () => world.apply(remove(configMap(CONFIG, {})))],
  ])('a value is forgotten with %s', (_, forget) => {
    write({ 'block-cidrs': '10.0.0.0/8' });
    forget();
    world.apply();
    expect(world.state.memory.get(`config-map/${CONFIG}`)).toBeUndefined();
    write({ 'block-cidrs': 'bad' });
    expect(world.routes(HOST)).toEqual(CLOSED);
  });

  test('one that has no good value closes, whatever another one has', () => {
    write({ 'block-cidrs': '10.0.0.0/8' });
    write({ 'block-cidrs': 'bad', 'denylist-source-range': 'bad' });
    expect(world.routes(HOST)).toEqual(CLOSED);
    expect(blocked()).toEqual(['10.0.0.0/8']);
  });

  test('is the same after a restart with its memory', () => {
    write({ 'block-cidrs': '10.0.0.0/8' });
    write({ 'block-cidrs': 'bad' });
    const fresh = new World(generated, { configMap: CONFIG });
    for (const key of world.state.memory.keys()) fresh.state.memory.set(key, world.state.memory.get(key));
    fresh.apply(configMap(CONFIG, { 'block-cidrs': 'bad' }));
    expect(fresh.model.settings.get(SETTINGS)?.blocked.networks).toEqual(['10.0.0.0/8']);
    expect(fresh.build.held()).toEqual(world.build.held());
  });
});

test('peers that cannot be read are the last good ones, at first nobody', () => {
  const trusted = () => world.model.settings.get(SETTINGS)?.forwarded.trustedPeers;
  write({ 'proxy-real-ip-cidr': 'bad' });
  expect(trusted()).toEqual([]);
  expect(held()).toEqual([]);
  write({ 'proxy-real-ip-cidr': '10.0.0.0/8' });
  write({ 'proxy-real-ip-cidr': 'bad' });
  expect(trusted()).toEqual(['10.0.0.0/8']);
  expect(held()).toEqual([`ConfigMap ${CONFIG}`]);
});

test('other keys are at their default, as in ingress-nginx', () => {
  write({ 'http-redirect-code': '301' });
  write({ 'http-redirect-code': 'moved' });
  expect(held()).toEqual([]);
  expect(world.state.memory.get(`config-map/${CONFIG}`)).toBeUndefined();
});
