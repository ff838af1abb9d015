import { beforeEach, describe, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import type { Ingress } from '../cluster/objects.ts';
import { endpointSlice, ingress, remove, rule, service, World } from './testing.ts';

const generated = await makePair(['ingress.local']);
let world: World;
beforeEach(() => {
  world = new World(generated);
  world.apply(service('shop/web', [{ port: 80 }]), endpointSlice('shop/web-1', 'web', ['10.0.0.1']));
});

function mirrored(name: string, target: string, more: Partial<Ingress> = {}): Ingress {
  return ingress(`shop/${name}`, {
    annotations: { 'nginx.ingress.kubernetes.io/mirror-target': target },
    rules: [rule(`${name}.example.com`, { '/': 'web:80' })],
    ...more,
  });
}

const policyOf = (name: string) => world.model.virtualHosts.get(`${name}.example.com`)?.routes[0]?.policy.mirror;

describe('targets', () => {
  test.each([
    ['https://copies.example.com', 'https://copies.example.com:443'],
    ['HTTPS://Copies.Example.COM/a', 'https://copies.example.com:443'],
    ['http://copies', 'http://copies:80'],
    ['http://copies.example.com.:8080/a', 'http://copies.example.com.:8080'],
    ['http://10.1.2.3:8080/a', 'http://10.1.2.3:8080'],
    ['http://167838211/a', 'http://10.1.2.3:80'],
    ['https://[2001:DB8::0:7]:8443$uri', 'https://[2001:db8::7]:8443'],
    ['http://copies.example.com?x', 'http://copies.example.com:80'],
    ['http://copies.example.com $request_uri', 'http://copies.example.com:80'],
  ])('%s is the cluster %s', (target, cluster) => {
    world.apply(mirrored('a', target));
    expect([...world.model.clusters.keys()]).toEqual(['shop/web/80', cluster]);
    expect(world.complaints()).toEqual([]);
  });

  test.each([
    ...['copies.example.com', '/copies', 'ftp://copies.example.com', '//copies.example.com', 'http://', 'https:///a'],
    ...['http://copies.example.com:0', 'http://copies.example.com:65536', 'http://copies.example.com:', 'http://a:b'],
    ...['http://$host/', 'http://copies.$host/', 'http://copies.example.com$host', 'http://copies.example.com:$port/'],
    ...['http://copies.example.com$args', 'http://copies.example.com$nothing', 'http://copies.example.com/$nothing'],
    ...[
      'http://user@copies.example.com/',
      'http://copies.example.com/#a',
      'http://copies.example.com/;',
      'http://a b;/',
    ],
    ...['http://under_score.example.com/', 'http://[10.0.0.1]/', 'http://2001:db8::7/', 'http://[2001:db8::7/'],
    ...['http://127.0.0.1/', 'http://127.1/', 'http://2130706433/', 'http://0177.0.0.1/', 'http://0x7f.0.0.1/'],
    ...['http://0.0.0.0/', 'http://[::]/', 'http://[::1]/', 'http://[::ffff:7f00:1]/', 'http://[::ffff:127.0.0.1]/'],
    ...['http://169.254.169.254/latest', 'http://[fe80::1]/', 'http://224.0.0.1/', 'http://255.255.255.255/'],
    ...['http://[64:ff9b::169.254.169.254]/', 'http://[fd00:ec2::254]/', 'http://[ff02::1]/', 'http://[::127.0.0.1]/'],
    ...['http://localhost/', 'http://LocalHost./', 'http://a.localhost/', 'http://metadata.google.internal/'],
    `http://copies.example.com/${'a'.repeat(2_000)}`,
  ])('%s is refused, and the Ingress is served', (target) => {
    world.apply(mirrored('a', target));
    const field = 'metadata.annotations["nginx.ingress.kubernetes.io/mirror-target"]';
    expect(world.complaints()).toEqual([`AnnotationInvalid Ingress shop/a ${field}`]);
    expect(world.routes('a.example.com')).toEqual(['prefix / → shop/web/80']);
    expect(policyOf('a')).toBeUndefined();
  });

  test.each(['http://a.example.com/', 'http://A.example.com.:8080/'])('%s would be copied again', (target) => {
    world.apply(mirrored('a', target));
    expect(world.diagnostics().map(({ message }) => message)).toEqual([
      'its host is one of the Ingress itself, where each copy would be copied again; it has no effect',
    ]);
    expect(policyOf('a')).toBeUndefined();
  });
});

describe('clusters for copies', () => {
  test('are there as long as somebody refers to them', () => {
    const [a, b] = [mirrored('a', 'http://copies.example.com/a'), mirrored('b', 'http://copies.example.com:80$uri')];
    world.apply(a, b);
    expect(world.model.clusters.get('http://copies.example.com:80')).toEqual({
      kind: 'mirror',
      name: 'http://copies.example.com:80',
      target: { tls: false, hostname: 'copies.example.com', port: 80 },
    });
    const runs = world.runsOf(() => void world.apply(remove(a)));
    expect(runs['cluster']).toBeUndefined();
    world.apply(remove(b));
    expect([...world.model.clusters.keys()]).toEqual([]);
  });

  test('are not there for what the proxy answers itself', () => {
    world.apply(mirrored('a', 'http://copies.example.com/', { rules: [rule('a.example.com', { '/only': 'web:80' })] }));
    expect(world.routes('a.example.com')).toEqual(['prefix /only → shop/web/80', 'prefix / → 404']);
    world.apply(mirrored('a', 'http://copies.example.com/', { rules: [] }));
    expect([...world.model.clusters.keys()]).toEqual([]);
  });
});
