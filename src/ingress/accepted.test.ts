import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import type { Ingress } from '../cluster/objects.ts';
import { configMap, ingress, ingressClass, remove, rule, service, World } from './testing.ts';

const generated = await makePair(['ingress.local']);
const HOST = 'shop.example.com';
const AUTH_URL = 'nginx.ingress.kubernetes.io/auth-url';
const AUTH_TLS = 'nginx.ingress.kubernetes.io/auth-tls-secret';

let world: World;
beforeEach(() => {
  world = new World(generated);
  world.apply(service('shop/web', [{ port: 80 }]), service('shop/other', [{ port: 80 }]));
});

const good = (fields: Partial<Ingress> = {}) =>
  ingress('shop/web', { rules: [rule(HOST, { '/': 'web:80' })], ...fields });
const refused = (fields: Partial<Ingress> = {}) =>
  ingress('shop/web', { rules: [rule(HOST, { '/': 'other:80', '/etc/passwd': 'other:80' })], ...fields });
const SERVED = ['prefix / → shop/web/80'];
const complaints = () => world.complaints().filter((text) => text.startsWith('Ingress'));
const heldUnits = () => world.build.held().map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);

describe('a version that is refused', () => {
  test('is not served when it is the first', () => {
    world.apply(refused());
    expect(world.routes(HOST)).toEqual([]);
    expect(complaints()).toEqual(['IngressRefused Ingress shop/web spec.rules[0].http.paths[1].path']);
    expect(heldUnits()).toEqual([]);
  });

  test('says that what it protects is not protected either', () => {
    world.apply(refused({ annotations: { [AUTH_URL]: 'https://auth.example.com' } }));
    expect(world.diagnostics()[0]?.message).toMatch(
      /; the Ingress is not served, and its auth-url protects nothing: if another Ingress has a wider path on one of its hosts, such as \/, requests are answered there, without that protection$/,
    );
  });

  test('leaves the one before it in force, whole', () => {
    world.apply(good());
    world.apply(refused());
    expect(world.routes(HOST)).toEqual(SERVED);
    expect(complaints()).toEqual(['IngressHeld Ingress shop/web spec.rules[0].http.paths[1].path']);
    expect(heldUnits()).toEqual(['Ingress shop/web']);
  });

  test('again and again', () => {
    world.apply(good());
    world.apply(refused());
    world.apply(refused({ rules: [rule(HOST, { '/var/run/secrets': 'other:80' })] }));
    expect(world.routes(HOST)).toEqual(SERVED);
  });

  test('says which version stays', () => {
    world.apply(good({ generation: 3 }));
    world.apply(refused({ generation: 4 }));
    expect(world.diagnostics()[0]?.message).toMatch(/; generation 3 stays in force$/);
  });

  test('is taken without --deep-inspect', () => {
    world = new World(generated, { deepInspect: false });
    world.apply(service('shop/other', [{ port: 80 }]), refused());
    expect(world.routes(HOST)).toContain('prefix /etc/passwd → shop/other/80');
  });

  test('does not touch the neighbours on its host', () => {
    world.apply(refused(), ingress('shop/neighbour', { rules: [rule(HOST, { '/n': 'web:80' })] }));
    expect(world.routes(HOST)).toContain('prefix /n → shop/web/80');
  });
});

describe('the version before is forgotten', () => {
  test('when a good one comes', () => {
    world.apply(good());
    world.apply(refused());
    world.apply(good({ rules: [rule(HOST, { '/': 'other:80' })] }));
    expect([world.routes(HOST), complaints(), heldUnits()]).toEqual([['prefix / → shop/other/80'], [], []]);
    world.apply(refused());
    expect(world.routes(HOST)).toEqual(['prefix / → shop/other/80']);
  });

  test('when the Ingress is deleted', () => {
    world.apply(good());
    world.apply(remove(good()));
    world.apply(refused());
    expect(world.routes(HOST)).toEqual([]);
  });

  test('when the Ingress is deleted and made again in one breath', () => {
    world.apply(good({ creationTimestamp: 1 }));
    world.apply(remove(good()), refused({ creationTimestamp: 2 }));
    expect(world.routes(HOST)).toEqual([]);
  });

  test.each(['as it is written', 'while it is held'])('when the Ingress leaves its class, %s', (how) => {
    world.apply(good());
    if (how === 'while it is held') world.apply(refused());
    world.apply(refused({ ingressClassName: 'other' }));
    expect(world.routes(HOST)).toEqual([]);
    world.apply(refused());
    expect(world.routes(HOST)).toEqual([]);
  });

  test('when its IngressClass changes hands', () => {
    world.apply(ingressClass('nginx'), good());
    world.apply(refused());
    world.apply(ingressClass('nginx', 'example.com/other'));
    expect(world.routes(HOST)).toEqual([]);
    world.apply(ingressClass('nginx'));
    expect(world.routes(HOST)).toEqual([]);
  });
});

describe('a refused version that protects', () => {
  const CLOSED = ['prefix / → 503'];

  test('closes the paths', () => {
    world.apply(good());
    world.apply(refused({ annotations: { [AUTH_URL]: 'http://auth' } }));
    expect(world.routes(HOST)).toEqual(CLOSED);
    expect(world.diagnostics()[0]?.message).toContain(`its paths answer 503`);
    expect(world.diagnostics()[0]?.message).toContain(AUTH_URL);
    world.apply(refused());
    expect(world.routes(HOST)).toEqual(SERVED);
  });

  test('closes the whole host where what it adds concerns the host', () => {
    world.apply(good(), ingress('shop/neighbour', { rules: [rule(HOST, { '/n': 'other:80' })] }));
    world.apply(refused({ annotations: { [AUTH_TLS]: 'shop/ca' } }));
    expect(world.routes(HOST)).toEqual(['prefix /n → 503', ...CLOSED]);
  });

  test('does not open what the version before protects', () => {
    world.apply(good({ annotations: { [AUTH_URL]: 'http://auth' } }));
    world.apply(refused());
    expect(world.routes(HOST)).toEqual(CLOSED);
  });
});

test('given the same memory, a fresh start holds the same', () => {
  const version = fc.constantFrom(
    good(),
    good({ rules: [rule(HOST, { '/a': 'web:80' })] }),
    refused(),
    refused({ annotations: { [AUTH_URL]: 'http://auth' } }),
    refused({ ingressClassName: 'other' }),
    remove(good()),
  );
  fc.assert(
    fc.property(fc.array(version, { minLength: 1, maxLength: 6 }), (versions) => {
      const lived = new World(generated);
      for (const one of versions) lived.apply(one);
      const fresh = new World(generated);
      for (const key of lived.state.memory.keys()) fresh.state.memory.set(key, lived.state.memory.get(key));
      fresh.apply(versions.at(-1)!);
      expect(fresh.dump()).toEqual(lived.dump());
      expect([...fresh.state.memory.keys()]).toEqual([...lived.state.memory.keys()]);
    }),
  );
});

test('an edit that is held runs no unit beyond the Ingress', () => {
  world.apply(good());
  world.apply(refused());
  const runs = world.runsOf(() =>
    world.apply(refused({ rules: [rule(HOST, { '/': 'other:80', '/etc/group': 'other:80' })] })),
  );
  expect(runs).toEqual({ 'accepted-ingress': 1, 'served-ingress': 1 });
});

test('annotations are gone through once for each version', () => {
  let readings = 0;
  const counted = (annotations: Readonly<Record<string, string>>) =>
    new Proxy(annotations, {
      ownKeys: (target) => {
        readings++;
        return Reflect.ownKeys(target);
      },
    });
  world.apply(good({ annotations: counted({ [AUTH_URL]: 'http://auth' }) }));
  expect(readings).toBe(1);
  world.apply(configMap('ingress/settings', {}), service('shop/other', [{ port: 8080 }]));
  expect(readings).toBe(1);
});
