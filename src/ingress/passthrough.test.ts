import { describe, expect, test } from 'vitest';
import { annotated } from '../../test/annotations/table.ts';
import { makePair } from '../../test/support/pki.ts';
import {
  type Change,
  configMap,
  endpointSlice,
  externalName,
  ingress,
  remove,
  rule,
  service,
  tlsSecret,
  World,
} from './testing.ts';

const generated = await makePair(['ingress.local']);
const pair = await makePair(['*.example.com', 'b.example.com']);
const annotations = annotated({ 'ssl-passthrough': 'true' });
const tls = [{ hosts: ['*.example.com'], secretName: 'any' }];

const services = [
  service('one/vault', [{ port: 8200 }]),
  endpointSlice('one/vault-1', 'vault', ['10.0.0.1']),
  service('one/web'),
  endpointSlice('one/web-1', 'web', ['10.0.0.2']),
];

function worldOf(...changes: readonly Change[]): World {
  const world = new World(generated, { sslPassthrough: true });
  world.apply(...services, tlsSecret('one/any', pair), ...changes);
  return world;
}

const vault = ingress('one/vault', { annotations, rules: [rule('vault.example.com', { 'Prefix /': 'vault:8200' })] });
const wildcard = ingress('one/wild', {
  annotations,
  tls,
  rules: [rule('*.example.com', { 'Prefix /': 'vault:8200' })],
});
const terminated = (host: string, fields = {}) =>
  ingress(`one/${host.replace('*', 'any')}`, { rules: [rule(host, { 'Prefix /': 'web:80' })], ...fields });

describe('TLS of a host', () => {
  test('is passed through to the Service of its path /', () => {
    const world = worldOf(vault);
    expect(world.serverNames()).toEqual({ 'vault.example.com': '→ one/vault/8200' });
    expect(world.model.virtualHosts.get('vault.example.com')?.passthrough).toMatchObject({
      cluster: { name: 'one/vault/8200' },
      origin: { ingress: 'one/vault', field: 'spec.rules[0].http.paths[0]' },
    });
    expect(world.complaints()).toEqual([]);
  });

  test('needs the flag', () => {
    const world = new World(generated);
    world.apply(vault, ...services);
    expect(world.serverNames()).toEqual({});
    expect(world.diagnostics().map(({ code, message }) => [code, message])).toEqual([
      ['PassthroughUnavailable', 'only with the flag --enable-ssl-passthrough; TLS of its hosts ends here'],
    ]);
  });

  test('needs a host and a path', () => {
    const world = worldOf(
      ingress('one/hostless', { annotations, rules: [rule(undefined, { 'Prefix /': 'vault:8200' })] }),
      ingress('one/pathless', { annotations, rules: [rule('a.example.com', { 'Prefix /ui': 'vault:8200' })] }),
      ingress('one/exact', { annotations, rules: [rule('b.example.com', { 'Exact /': 'vault:8200' })] }),
    );
    expect(world.serverNames()).toEqual({});
    expect(world.complaints()).toEqual(
      ['exact', 'hostless', 'pathless'].map((name) => `PassthroughUnavailable Ingress one/${name} spec.rules`),
    );
  });

  test('any Ingress of the namespace decides, and the oldest of those with the path / says where to', () => {
    const world = worldOf(
      terminated('vault.example.com', { creationTimestamp: 1 }),
      ingress('one/late', {
        annotations,
        creationTimestamp: 2,
        rules: [rule('vault.example.com', { 'Prefix /ui': 'vault:8200' })],
      }),
    );
    expect(world.serverNames()).toEqual({ 'vault.example.com': '→ one/web/80' });
    expect(world.complaints()).toEqual(['PassthroughIgnores Ingress one/late spec.rules[0].http.paths[0]']);
  });

  describe('with Ingresses of another namespace', () => {
    const others = [service('two/web'), endpointSlice('two/web-1', 'web', ['10.0.0.3'])];
    const of = (key: string, creationTimestamp: number, path: string, wishes: Record<string, string>, more = {}) =>
      ingress(key, {
        annotations: annotated(wishes),
        creationTimestamp,
        rules: [rule('bank.example.com', { [`Prefix ${path}`]: 'web:80' })],
        ...more,
      });
    const passed = { 'ssl-passthrough': 'true' };
    const listed = { 'allowlist-source-range': '10.0.0.0/8' };
    const names = (world: World) => world.serverNames()['bank.example.com'];
    const unavailable = (world: World) =>
      world
        .diagnostics()
        .flatMap(({ code, ref, message }) =>
          code === 'PassthroughUnavailable' ? [`${ref?.namespace}/${ref?.name}: ${message}`] : [],
        );

    test('is not taken by one of them, with or without the path /', () => {
      const reason =
        'host bank.example.com belongs to the namespace of its oldest Ingress, one/bank, and none there asks for ssl-passthrough; TLS is ended here';
      const taken = worldOf(of('one/bank', 1, '/app', {}), of('two/evil', 2, '/', passed), ...others);
      expect(names(taken)).toBeUndefined();
      expect(unavailable(taken)).toEqual([`two/evil: ${reason}`]);
      const past = worldOf(of('one/bank', 1, '/', listed), of('two/evil', 2, '/zzz', passed), ...others);
      expect(names(past)).toBeUndefined();
      expect(unavailable(past)).toEqual([`two/evil: ${reason}`]);
    });

    test('does not go to the Service of one of them, nor take the path / from it', () => {
      const world = worldOf(of('one/bank', 1, '/app', passed), of('two/web', 2, '/', {}), ...others);
      expect(names(world)).toBeUndefined();
      world.apply(of('one/more', 3, '/', {}));
      expect(names(world)).toBeUndefined();
      expect(unavailable(world)).toEqual([
        'one/bank: the path / of host bank.example.com is that of Ingress two/web, in another namespace than the oldest Ingress of the host; TLS is ended here',
      ]);
    });

    test('leaves those that are protected and older as they are, and no younger one ends it', () => {
      const host = [of('one/bank', 1, '/', {}), of('two/safe', 2, '/safe', listed)];
      const world = worldOf(...host, of('one/late', 3, '/app', passed), ...others);
      expect(names(world)).toBeUndefined();
      expect(unavailable(world)).toEqual([
        'one/late: Ingress two/safe, in another namespace and older than one/late, protects paths of host bank.example.com (nginx.ingress.kubernetes.io/allowlist-source-range); TLS is ended here',
      ]);
      world.apply(of('one/bank', 1, '/', passed));
      expect(names(world)).toBe('→ one/web/80');
      expect(unavailable(world)).toEqual([]);
      expect(world.complaints()).toContain('PassthroughIgnores Ingress two/safe spec.rules[0].http.paths[0]');
    });

    test('goes to the next namespace when the oldest Ingress leaves', () => {
      const bank = of('one/bank', 1, '/app', {});
      const world = worldOf(bank, of('two/web', 2, '/', passed), ...others);
      expect(names(world)).toBeUndefined();
      world.apply(remove(bank));
      expect(names(world)).toBe('→ two/web/80');
    });
  });

  test('is passed through to a cluster of its own where requests without TLS need another', () => {
    const grpc = ingress('one/vault', {
      annotations: { ...annotations, ...annotated({ 'backend-protocol': 'HTTPS', 'service-upstream': 'true' }) },
      rules: vault.rules,
    });
    const world = worldOf(grpc, service('one/vault', [{ port: 8200 }], { clusterIP: '10.0.0.1' }));
    const [target] = Object.values(world.serverNames());
    const clusters = [...world.model.clusters.keys()];
    expect(clusters).toHaveLength(2);
    expect(clusters.map((name) => `→ ${name}`)).toContain(target);
    expect(world.model.endpoints.get('one/vault/8200/cluster-ip')?.addresses).toEqual([{ ip: '10.0.0.1', port: 8200 }]);
    world.apply(remove(grpc));
    expect([...world.model.clusters.keys()]).toEqual([]);
  });

  test('leads to an external name', () => {
    const world = worldOf(vault, externalName('one/vault', 'vault.example.org', [{ port: 8200 }]));
    expect(world.model.clusters.get('one/vault/8200')).toMatchObject({ kind: 'dns', hostname: 'vault.example.org' });
  });

  test('has no certificate, and nobody minds a Secret that is not there', () => {
    const world = worldOf({ ...vault, tls: [{ hosts: ['vault.example.com'], secretName: 'nowhere' }] });
    expect(world.complaints()).toEqual([]);
    expect(world.routes('vault.example.com')).toEqual(['prefix / → one/vault/8200 (https)']);
  });

  test('is that of its aliases too, but not of a name that is redirected to it', () => {
    const world = worldOf({
      ...vault,
      annotations: {
        ...annotations,
        ...annotated({ 'server-alias': 'bao.example.com', 'from-to-www-redirect': 'true' }),
      },
    });
    expect(world.serverNames()).toEqual({
      'bao.example.com': '→ one/vault/8200',
      'vault.example.com': '→ one/vault/8200',
    });
    expect(world.model.virtualHosts.get('www.vault.example.com')?.passthrough).toBeUndefined();
  });

  test('nothing else that its Ingress asks for counts, and what does not is said', () => {
    const said = (wishes: Record<string, string>) => {
      const world = worldOf({ ...vault, annotations: { ...annotations, ...annotated(wishes) } });
      return world.diagnostics().map(({ code, severity, message }) => [code, severity, message.split(': ').at(-1)]);
    };
    expect(said({ 'force-ssl-redirect': 'true', 'service-upstream': 'false' })).toEqual([]);
    expect(said({ 'proxy-body-size': '8m', 'app-root': '/ui' })).toEqual([
      ['PassthroughIgnores', 'info', 'app-root, proxy-body-size'],
    ]);
    expect(said({ 'whitelist-source-range': '10.0.0.0/8' })).toEqual([
      ['PassthroughIgnores', 'warning', 'whitelist-source-range'],
    ]);
  });

  test('a canary asks for nothing, and takes nothing', () => {
    const canary = ingress('one/canary', {
      annotations: annotated({ canary: 'true', 'canary-weight': '50', 'ssl-passthrough': 'true' }),
      rules: vault.rules,
    });
    expect(worldOf(canary, terminated('vault.example.com')).serverNames()).toEqual({});
    expect(worldOf(canary, vault).complaints()).toEqual([
      'CanaryIgnores Ingress one/canary metadata.annotations',
      'CanaryUnmatched Ingress one/canary spec.rules[0].http.paths[0]',
      'PassthroughIgnores Ingress one/canary spec.rules',
    ]);
  });
});

describe('of a wildcard host', () => {
  test('goes through for all names of one label that nobody else has', () => {
    const world = worldOf(wildcard, terminated('*.example.org', { tls }), terminated('a.example.com', { tls }));
    // b.example.com is named by the certificate, but no Ingress has it.
    expect(world.serverNames()).toEqual({
      '*.example.com': '→ one/vault/8200',
      'a.example.com': 'one/any',
      'b.example.com': '→ one/vault/8200',
    });
  });

  test('gives way to a host without TLS of its own', () => {
    const plain = terminated('a.example.com');
    const world = worldOf({ ...wildcard, tls: [] }, plain);
    expect(world.serverNames()).toEqual({
      '*.example.com': '→ one/vault/8200',
      'a.example.com': 'default-certificate',
    });
  });

  test('that ends here does not take a host below it', () => {
    const world = worldOf(vault, terminated('*.example.com', { tls }));
    expect(world.serverNames()).toEqual({
      '*.example.com': 'one/any',
      'b.example.com': 'one/any',
      'vault.example.com': '→ one/vault/8200',
    });
  });
});

test('nginx cannot pass through and believe a header', () => {
  const options = { sslPassthrough: true, proxy: 'nginx', configMap: 'one/config' } as const;
  const shown = (data: Record<string, string>) => {
    const world = new World(generated, options);
    world.apply(...services, vault, configMap('one/config', data));
    return [Object.keys(world.serverNames()), world.complaints().length];
  };
  expect(shown({})).toEqual([['vault.example.com'], 0]);
  expect(shown({ 'use-forwarded-headers': 'true' })).toEqual([[], 1]);
  expect(shown({ 'use-forwarded-headers': 'true', 'use-proxy-protocol': 'true' })).toEqual([['vault.example.com'], 0]);
});
