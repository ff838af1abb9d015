import { describe, expect, test } from 'vitest';
import { makePair } from '../../test/support/pki.ts';
import type { Ingress } from '../cluster/objects.ts';
import type { Canary } from '../model/canary.ts';
import { type Change, endpointSlice, externalName, ingress, remove, rule, service, World } from './testing.ts';

const generated = await makePair(['ingress.local']);
const prefix = 'nginx.ingress.kubernetes.io';
const host = 'shop.example.com';
const WEB = ['web', 'beta', 'gamma'].flatMap((name, index) => [
  service(`shop/${name}`),
  endpointSlice(`shop/${name}-1`, name, [`10.0.0.${index + 1}`]),
]);

/** Of `shop.example.com`; `age` orders them. */
function on(key: string, paths: Record<string, string>, annotations: Record<string, string> = {}, age = 1) {
  const written = Object.entries(annotations).map(([name, value]) => [`${prefix}/${name}`, value]);
  return ingress(key, { rules: [rule(host, paths)], annotations: Object.fromEntries(written), creationTimestamp: age });
}

function canary(key: string, to: string, annotations: Record<string, string> = {}, age = 2) {
  return on(key, { 'Prefix /': to }, { canary: 'true', ...annotations }, age);
}

const primary = on('shop/web', { 'Prefix /': 'web:80' });

function world(...objects: Change[]): World {
  const made = new World(generated);
  made.apply(...WEB, ...objects);
  return made;
}

function canariesOf(made: World): readonly Canary[] {
  const [route] = made.model.virtualHosts.get(host)?.routes ?? [];
  return route?.action.kind === 'forward' ? (route.action.canaries ?? []) : [];
}

/** `cluster share`, in millionths. */
function shares(made: World): string[] {
  return canariesOf(made).map(({ cluster, millionths }) => `${cluster.name} ${millionths}`);
}

const PAIR = 'shop/web/80@shop/beta/80';

describe('a canary', () => {
  test('belongs to the route of its primary', () => {
    const made = world(
      primary,
      canary('shop/beta', 'beta:80', { 'canary-by-header': 'X_Canary', 'canary-weight': '5' }),
    );
    expect(made.routes(host)).toEqual(['prefix / → shop/web/80']);
    expect(canariesOf(made)).toMatchObject([
      {
        cluster: { name: PAIR, primary: { service: 'web' } },
        header: { name: 'x-canary' },
        millionths: 50_000,
        sticky: true,
        origin: { ingress: 'shop/beta', field: 'spec.rules[0].http.paths[0]' },
      },
    ]);
    expect(made.complaints()).toEqual([]);
  });

  test('of several the oldest comes first, and their weights add up to the whole at most', () => {
    const made = world(
      canary('shop/young', 'gamma:80', { 'canary-weight': '90' }, 3),
      canary('shop/old', 'beta:80', { 'canary-weight': '300', 'canary-weight-total': '1000' }, 2),
      primary,
    );
    expect(shares(made)).toEqual([`${PAIR} 300000`, 'shop/web/80@shop/gamma/80 700000']);
  });

  test.each<[string, ...Ingress[]]>([
    ['another path', on('shop/beta', { 'Prefix /beta': 'beta:80' }, { canary: 'true' })],
    ['another type of path', on('shop/beta', { 'Exact /': 'beta:80' }, { canary: 'true' })],
    ['the Service port of its primary', canary('shop/beta', 'web:80')],
    ['a primary that is a canary', canary('shop/beta', 'beta:80'), canary('shop/gamma', 'gamma:80')],
  ])('is reported with %s', (_, ...canaries) => {
    const made = world(...(canaries.length > 1 ? [] : [primary]), ...canaries);
    expect(canariesOf(made)).toEqual([]);
    const unmatched = made.complaints().filter((complaint) => complaint.startsWith('CanaryUnmatched'));
    expect(unmatched).toHaveLength(canaries.length);
  });

  test('makes no host: whoever answered before does', () => {
    const made = world(canary('shop/beta', 'beta:80'));
    expect([...made.model.virtualHosts.keys()]).toEqual(['*']);
  });

  test('follows its primary when that comes and goes', () => {
    const made = world(canary('shop/beta', 'beta:80', { 'canary-weight': '1' }));
    made.apply(primary);
    expect(shares(made)).toEqual([`${PAIR} 10000`]);
    made.apply(remove(primary));
    expect([...made.model.virtualHosts.keys()]).toEqual(['*']);
    expect(made.model.clusters.get(PAIR)).toBeUndefined();
  });

  test('brings no certificate, no protection and no redirect', () => {
    const { rules, annotations } = canary('shop/beta', 'beta:80', {
      'auth-tls-secret': 'shop/ca',
      'force-ssl-redirect': 'true',
    });
    const made = world(
      primary,
      ingress('shop/beta', { rules, annotations, tls: [{ hosts: [host], secretName: 'x' }] }),
    );
    expect(made.routes(host)).toEqual(['prefix / → shop/web/80']);
    expect(made.serverNames()).toEqual({});
    expect(made.complaints()).toEqual(['CanaryIgnores Ingress shop/beta metadata.annotations']);
  });

  test('does not open what protects its primary', () => {
    const closed = on('shop/web', { 'Prefix /': 'web:80' }, { 'auth-type': 'digest', 'auth-secret': 'nobody' });
    const made = world(closed, canary('shop/beta', 'beta:80', { 'canary-weight': '100' }));
    expect(made.routes(host)).toEqual(['prefix / → 503']);
  });

  test('of an Ingress with a default backend alone joins that of another', () => {
    const catchAll = (key: string, to: string, annotations: Record<string, string>) =>
      ingress(key, { defaultBackend: { service: { name: to, port: { number: 80 } } }, annotations });
    const made = world(
      catchAll('shop/web', 'web', {}),
      catchAll('shop/beta', 'beta', { [`${prefix}/canary`]: 'true', [`${prefix}/canary-weight`]: '100' }),
    );
    const route = made.model.virtualHosts.get('*')?.routes.at(-1);
    expect(route?.action).toMatchObject({ cluster: { service: 'web' }, canaries: [{ cluster: { name: PAIR } }] });
  });

  test('shares the session of its primary unless it says otherwise', () => {
    const sessions = on('shop/web', { 'Prefix /': 'web:80' }, { affinity: 'cookie', 'proxy-connect-timeout': '9' });
    const policies = ['sticky', 'legacy'].map((behavior) => {
      const made = world(sessions, canary('shop/beta', 'beta:80', { 'affinity-canary-behavior': behavior }));
      return canariesOf(made)[0]?.cluster.policy;
    });
    expect(policies).toEqual([{ connectTimeoutSeconds: 9, cookieHash: true }, { connectTimeoutSeconds: 9 }]);
  });
});

describe('the endpoints of a canary', () => {
  const made = () => world(primary, canary('shop/beta', 'beta:80', { 'canary-weight': '100' }));

  test('are its own', () => {
    expect(made().addresses(PAIR)).toEqual(['10.0.0.2 8080']);
  });

  test('are those of its primary while it has none, and none while that has none', () => {
    const changed = made();
    const runs = changed.runsOf(() => changed.apply(endpointSlice('shop/beta-1', 'beta', [])));
    expect(changed.addresses(PAIR)).toEqual(['10.0.0.1 8080']);
    expect(runs).toEqual({ endpoints: 1 });
    changed.apply(endpointSlice('shop/beta-1', 'beta', ['10.0.0.2']), endpointSlice('shop/web-1', 'web', []));
    expect(changed.addresses(PAIR)).toEqual([]);
  });

  test('of an external name as its primary are its own alone', () => {
    const changed = made();
    changed.apply(externalName('shop/web', 'web.example.org', [{ port: 80 }]));
    expect(changed.model.clusters.get(PAIR)).toMatchObject({ kind: 'endpoints', endpoints: 'shop/beta/80' });
  });

  test('of an external name are looked up by the proxy', () => {
    const changed = made();
    changed.apply(externalName('shop/beta', 'beta.example.org', [{ port: 80 }]));
    expect(changed.model.clusters.get(PAIR)).toMatchObject({ kind: 'dns', hostname: 'beta.example.org' });
  });
});
