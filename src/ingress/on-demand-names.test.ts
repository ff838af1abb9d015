import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { annotated } from '../../test/annotations/table.ts';
import { makePair } from '../../test/support/pki.ts';
import { DEFAULT_CERTIFICATE, ON_DEMAND, type ServerNameTarget } from '../model/proxy-model.ts';
import { isWildcard, wildcardOf } from './host.ts';
import { type Change, describeTarget, ingress, remove, rule, tlsSecret, World } from './testing.ts';

const generated = await makePair(['ingress.local']);

/** What certificates there are, by the names that they carry. */
const CERTIFICATES = [
  ['a.x.io'],
  ['b.x.io'],
  ['c'],
  ['x.io'],
  ['*.x.io'],
  ['a.x.io', 'b.x.io'],
  ['x.io', '*.x.io', 'y.io'],
];
const pairs = await Promise.all(CERTIFICATES.map((names) => makePair(names)));
const secretKey = (namespace: string, index: number) =>
  `${namespace}/${CERTIFICATES[index]?.join('+').replace('*', 'any')}`;

const SERVER_NAMES = ['a.x.io', 'b.x.io', 'd.x.io', 'a.b.x.io', 'c', 'x.io', 'y.io', 'z.io', 'a.z.io'];

/** Who answers for a server name; `undefined` when it is refused. Written independently of the emitter. */
function shown({ model }: World, serverName: string): string | undefined {
  const listener = model.listeners.get('https');
  const led = (name: string | undefined): ServerNameTarget | undefined =>
    listener?.serverNames.find((one) => one.name === name);
  const target = led(serverName) ??
    led(wildcardOf(serverName)) ?? { certificate: listener?.onDemand ? ON_DEMAND : DEFAULT_CERTIFICATE };
  const isFound = 'certificate' in target && target.certificate === ON_DEMAND;
  return isFound ? model.onDemandNames.get(serverName) : describeTarget(target);
}

const isClaimed = ({ build }: World, name: string) =>
  build.hostTls.get(name) !== undefined || build.hostTls.get(wildcardOf(name) ?? name) !== undefined;

/** By the host that has the name, or else the wildcard host. */
const isPassedThrough = ({ model: { virtualHosts } }: World, name: string) =>
  (virtualHosts.get(name) ?? virtualHosts.get(wildcardOf(name) ?? ''))?.passthrough !== undefined;

const namespace = fc.constantFrom('one', 'two');
const certificate = fc.nat(CERTIFICATES.length - 1);
const host = fc.constantFrom('a.x.io', 'b.x.io', 'd.x.io', 'c', 'x.io', '*.x.io', '*.z.io', 'a.z.io');

const secretChange = fc.tuple(namespace, certificate, fc.boolean()).map(([where, index, there]): Change => {
  const secret = tlsSecret(secretKey(where, index), pairs[index]!);
  return there ? secret : remove(secret);
});
/** What an Ingress asks for beside its certificate. */
const wish = fc.constantFrom(
  {},
  {},
  {},
  annotated({ 'ssl-passthrough': 'true' }),
  annotated({ 'ssl-ciphers': 'AES128-SHA' }),
);
const ingressChange = fc
  .tuple(namespace, fc.nat(4), host, fc.option(certificate), wish, fc.boolean())
  .map(([where, number, name, index, annotations, there]): Change => {
    const tls = index === null ? [] : [{ hosts: [name], secretName: secretKey('', index).slice(1) }];
    const object = ingress(`${where}/i${number}`, { rules: [rule(name, { '/': 'web:80' })], tls, annotations });
    return there ? object : remove(object);
  });
const allSecrets = ['one', 'two'].flatMap((where) =>
  pairs.map((pair, index) => tlsSecret(secretKey(where, index), pair)),
);

const options = { sslPassthrough: true };

describe('certificates that are looked up on demand', () => {
  test('are those that are shown without; only names that nobody claims are refused', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.oneof(ingressChange, ingressChange, secretChange)), { maxLength: 6 }),
        (passes) => {
          const chains = new World(generated, options);
          const onDemand = new World(generated, { ...options, tlsOnDemand: true });
          for (const changes of [allSecrets, ...passes]) {
            chains.apply(...changes);
            onDemand.apply(...changes);
            for (const name of SERVER_NAMES) {
              const expected = shown(chains, name);
              const isRefused = expected === DEFAULT_CERTIFICATE && !isClaimed(chains, name);
              expect([name, shown(onDemand, name)]).toEqual([name, isRefused ? undefined : expected]);
              expect([name, expected?.startsWith('→')]).toEqual([name, isPassedThrough(chains, name)]);
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test('stand in no listener, unless a wildcard would answer in their place', () => {
    const site = (name: string, secret: string) =>
      ingress(`one/${name.replace('*', 'any')}`, {
        rules: [rule(name, { '/': 'web:80' })],
        tls: [{ hosts: [name], secretName: secret }],
      });
    const world = new World(generated, { tlsOnDemand: true });
    world.apply(...allSecrets, site('a.x.io', 'a.x.io'), site('c', 'c'));
    expect(world.serverNames()).toEqual({});
    expect([...world.model.onDemandNames.keys()].toSorted()).toEqual(['a.x.io', 'c']);
    world.apply(site('*.x.io', 'any.x.io'));
    expect(world.serverNames()).toEqual({ '*.x.io': 'one/any.x.io', 'a.x.io': ON_DEMAND });
  });

  test('that come and go do not touch the listener', () => {
    const world = new World(generated, { tlsOnDemand: true });
    const site = ingress('one/c', { rules: [rule('c', { '/': 'web:80' })], tls: [{ hosts: ['c'], secretName: 'c' }] });
    world.apply(...allSecrets);
    const before = world.model.listeners.get('https');
    world.apply(site);
    world.apply(remove(tlsSecret('one/c', pairs[2]!)));
    world.apply(remove(site));
    expect(world.model.listeners.get('https')).toBe(before);
    expect([...world.model.onDemandNames.keys()].filter((name) => !isWildcard(name))).toEqual([]);
  });
});
