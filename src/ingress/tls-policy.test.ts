import { describe, expect, test } from 'vitest';
import { annotated } from '../../test/annotations/table.ts';
import { makePair } from '../../test/support/pki.ts';
import { ON_DEMAND } from '../model/proxy-model.ts';
import { type Change, endpointSlice, ingress, remove, rule, service, tlsSecret, World } from './testing.ts';
import { MAX_POLICIES } from './tls-policy.ts';

const generated = await makePair(['ingress.local']);
const pair = await makePair(['*.example.com', 'b.example.com']);
const tls = [{ hosts: ['*.example.com'], secretName: 'any' }];
const services = [service('one/web'), endpointSlice('one/web-1', 'web', ['10.0.0.2'])];

function worldOf(...changes: readonly Change[]): World {
  const world = new World(generated);
  world.apply(...services, tlsSecret('one/any', pair), ...changes);
  return world;
}

const terminated = (host: string, fields = {}) =>
  ingress(`one/${host.replace('*', 'any')}`, { rules: [rule(host, { 'Prefix /': 'web:80' })], ...fields });

describe('ciphers of a host', () => {
  const [GCM, CHACHA] = ['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305'];
  const asking = (wishes: Record<string, string>, host = 'a.example.com', more = {}) =>
    terminated(host, { tls, annotations: annotated(wishes), ...more });

  test('stand beside its certificate, for its name alone', () => {
    const world = worldOf(asking({ 'ssl-ciphers': `${GCM}:RC4-SHA` }), terminated('c.example.com', { tls }));
    expect(world.serverNames()).toEqual({
      '*.example.com': 'one/any',
      'a.example.com': `one/any [${GCM}]`,
      'b.example.com': 'one/any',
    });
    expect(world.diagnostics().map(({ message }) => message)).toEqual([
      'the proxy has no RC4-SHA; the others of the list hold',
    ]);
  });

  test('each part is that of the first Ingress of the host that has it', () => {
    const rules = [rule('a.example.com', { 'Prefix /more': 'web:80' })];
    const world = worldOf(
      asking({ 'ssl-prefer-server-ciphers': 'false' }, 'a.example.com', { creationTimestamp: 1, tls: [] }),
      ingress('one/second', { rules, creationTimestamp: 2, annotations: annotated({ 'ssl-ciphers': GCM }) }),
      ingress('one/third', {
        rules: [rule('a.example.com', { 'Prefix /third': 'web:80' })],
        creationTimestamp: 3,
        annotations: annotated({ 'ssl-ciphers': CHACHA, 'ssl-prefer-server-ciphers': 'true' }),
      }),
    );
    expect(world.serverNames()).toEqual({ 'a.example.com': `default-certificate [${GCM} as clients like]` });
  });

  test('are not those of hosts below a wildcard', () => {
    const world = worldOf(asking({ 'ssl-ciphers': GCM }, '*.example.com'), terminated('a.example.com', { tls }));
    expect(world.serverNames()).toEqual({
      '*.example.com': `one/any [${GCM}]`,
      'a.example.com': 'one/any',
      'b.example.com': `one/any [${GCM}]`,
    });
  });

  test('that the proxy does not have leave those of the ConfigMap in force', () => {
    const world = worldOf(asking({ 'ssl-ciphers': 'RC4-SHA' }));
    expect(world.serverNames()).toEqual({ '*.example.com': 'one/any', 'b.example.com': 'one/any' });
    expect(world.complaints()).toEqual([
      'AnnotationInvalid Ingress one/a.example.com metadata.annotations["nginx.ingress.kubernetes.io/ssl-ciphers"]',
    ]);
  });

  test('cannot be had without a host', () => {
    const world = worldOf(
      ingress('one/hostless', {
        rules: [rule(undefined, { '/': 'web:80' })],
        annotations: annotated({ 'ssl-ciphers': GCM }),
      }),
    );
    expect(world.serverNames()).toEqual({});
    expect(world.complaints()).toEqual(['AnnotationUnsupported Ingress one/hostless metadata.annotations']);
  });

  test('need a chain, so the certificate is not looked up on demand', async () => {
    const single = await makePair(['a.example.com']);
    const world = new World(generated, { tlsOnDemand: true });
    const own = [{ hosts: ['a.example.com'], secretName: 'own' }];
    const change = (wishes: Record<string, string>) =>
      world.apply(...services, tlsSecret('one/own', single), asking(wishes, 'a.example.com', { tls: own }));
    change({});
    expect(world.serverNames()).toEqual({});
    change({ 'ssl-ciphers': GCM });
    expect(world.serverNames()).toEqual({ 'a.example.com': `one/own [${GCM}]` });
    expect([...world.model.onDemandNames.keys()]).toEqual([]);
    expect(Object.values(world.serverNames())).not.toContain(ON_DEMAND);
  });

  test('are not those of an Ingress of another namespace than the oldest', () => {
    const foreign = ingress('two/evil', {
      rules: [rule('a.example.com', { 'Prefix /zzz': 'web:80' })],
      creationTimestamp: 2,
      annotations: annotated({ 'ssl-ciphers': 'AES128-SHA', 'ssl-prefer-server-ciphers': 'false' }),
    });
    const oldest = terminated('a.example.com', { tls, creationTimestamp: 1 });
    const world = worldOf(oldest, foreign);
    expect(world.serverNames()).toEqual({ '*.example.com': 'one/any', 'b.example.com': 'one/any' });
    expect(
      world.diagnostics().flatMap(({ code, ref, message }) => (ref?.name === 'evil' ? [[code, message]] : [])),
    ).toContainEqual([
      'AnnotationUnsupported',
      'host a.example.com belongs to namespace one, that of its oldest Ingress (one/a.example.com); ssl-ciphers and ssl-prefer-server-ciphers are without effect there',
    ]);
    world.apply(remove(oldest));
    expect(world.serverNames()['a.example.com']).toBe('default-certificate [AES128-SHA as clients like]');
  });

  describe('of many kinds', () => {
    const ALL = [GCM, CHACHA, 'AES128-SHA', 'AES256-SHA'];
    /** As many lists as one likes: each another rotation or length. */
    const lists = ALL.flatMap((_, start) =>
      ALL.map((_, end) => [...ALL.slice(start), ...ALL].slice(0, end + 1).join(':')),
    );
    const host = (index: number) => `h${index}.example.com`;
    const one = (index: number, list = lists[index]!, namespace = 'one') =>
      ingress(`${namespace}/h${index}`, {
        rules: [rule(host(index), { 'Prefix /': 'web:80' })],
        creationTimestamp: 100 + index,
        annotations: annotated({ 'ssl-ciphers': list }),
      });
    const many = (count: number, namespace?: string) =>
      Array.from({ length: count }, (_, index) => one(index, lists[index], namespace));
    const named = (world: World) => Object.keys(world.serverNames()).toSorted();

    test('hold for the oldest Ingresses of a namespace, and for others as soon as there is room', () => {
      const all = many(MAX_POLICIES + 2);
      const world = worldOf(...all.toReversed());
      const oldest = Array.from({ length: MAX_POLICIES }, (_, index) => host(index));
      expect(named(world)).toEqual(oldest);
      expect(
        world
          .diagnostics()
          .map(({ ref, message }) => `${ref?.name}: ${message}`)
          .toSorted(),
      ).toEqual(
        [MAX_POLICIES, MAX_POLICIES + 1].map(
          (index) =>
            `h${index}: older Ingresses of namespace one have ${MAX_POLICIES} others already, so that on host ${host(index)} TLS is spoken as the ConfigMap says; ssl-ciphers and ssl-prefer-server-ciphers are without effect there`,
        ),
      );
      world.apply(remove(all[0]!));
      expect(named(world)).toEqual([...oldest.slice(1), host(MAX_POLICIES)].toSorted());
    });

    test('leave room to what others say already, and to other namespaces', () => {
      const world = worldOf(...many(MAX_POLICIES), one(20, lists[0]), one(21, lists[12], 'two'));
      expect(named(world)).toEqual(expect.arrayContaining([host(20), host(21)]));
      expect(world.complaints().filter((text) => text.startsWith('AnnotationUnsupported'))).toEqual([]);
    });

    test('ask for no more work the more hosts there are, and reach no other host', () => {
      const runs = (count: number) => {
        const same = Array.from({ length: count }, (_, index) => one(100 + index, lists[0]));
        const world = worldOf(...same);
        return world.runsOf(() => world.apply(one(100, lists[1])));
      };
      expect(runs(5)).toEqual(runs(100));
    });
  });
});
