import { describe, expect, it } from 'vitest';
import {
  createWorld,
  fillShop,
  ingress,
  misbehaveFirst,
  secret,
  service,
} from '../../test/support/kubernetes-source.ts';

describe('first reading', () => {
  it('hands everything over in one batch, and nothing before', async () => {
    const world = await createWorld({ fill: fillShop });
    await world.source.start();
    expect(world.batches).toHaveLength(1);
    expect([...world.known.keys()].sort()).toEqual([
      'Ingress shop/web',
      'IngressClass nginx',
      'Secret shop/tls',
      'Service shop/web',
    ]);
    await world.settled();
  });

  it('reads each kind once, in pages, asking the storage and not a cache', async () => {
    const world = await createWorld({
      fill: (api) => {
        for (let i = 0; i < 1201; i += 1) api.put('Service', service(`s${i}`));
      },
    });
    await world.source.start();
    expect(world.known.size).toBe(1201);
    const pages = world.api.requests.filter(({ verb, kind }) => verb === 'list' && kind === 'Service');
    expect(pages).toHaveLength(3);
    expect(pages.every(({ query }) => query['limit'] === '500' && query['resourceVersion'] === undefined)).toBe(true);
    for (const kind of ['Ingress', 'IngressClass', 'Service', 'EndpointSlice', 'Secret', 'ConfigMap'] as const) {
      expect(world.api.count('list', kind), kind).toBe(1);
    }
    expect(world.api.count('list', 'Namespace')).toBe(0);
  });

  it('lists Secrets when the references are known, and keeps nothing of those that nobody refers to', async () => {
    const world = await createWorld({
      fill: (api) => {
        fillShop(api);
        for (let i = 0; i < 100; i += 1) api.put('Secret', secret(`other-${i}`));
        api.put('Secret', secret('release', 'shop', 'helm.sh/release.v1'));
      },
    });
    await world.source.start();
    expect([...world.known.keys()].filter((key) => key.startsWith('Secret'))).toEqual(['Secret shop/tls']);
    const order = world.api.requests.filter(({ verb }) => verb === 'list').map(({ kind }) => kind);
    expect(order.indexOf('Secret')).toBeGreaterThan(order.indexOf('Ingress'));
    expect(world.api.requests.find(({ kind }) => kind === 'Secret')?.query['fieldSelector']).toBe(
      'type!=helm.sh/release.v1',
    );
    world.api.put('Secret', secret('other-1'));
    world.api.put('Service', service('later'));
    await world.until(() => world.known.has('Service shop/later'), 'the event after that of the Secret');
    expect(world.batches.flat().filter((change) => 'upsert' in change && change.upsert.kind === 'Secret')).toHaveLength(
      1,
    );
    expect(world.events.some(({ type }) => type === 'read')).toBe(false);
  });

  it.each([
    ['a refusal', { status: 500 }],
    ['too many requests', { status: 429, headers: { 'Retry-After': '1' } }],
    ['half an answer', 'truncate'],
    ['a broken connection', 'reset'],
    ['something else than a list', { raw: '{"kind":"Status"}' }],
    ['a list of another kind', { raw: '{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[]}' }],
    ['no JSON', { raw: '<html>' }],
  ] as const)('is not over after %s', async (_, misbehaviour) => {
    const world = await createWorld({ fill: fillShop });
    misbehaveFirst(world.api, 'list', 'Service', misbehaviour, 3);
    await world.source.start();
    expect(world.batches).toHaveLength(1);
    await world.settled();
    expect(world.api.count('list', 'Service')).toBe(4);
  });

  it('begins anew when a page is no longer to be had', async () => {
    const world = await createWorld({
      fill: (api) => {
        for (let i = 0; i < 600; i += 1) api.put('Service', service(`s${i}`));
      },
    });
    let isFirst = true;
    world.api.misbehave = ({ query }) => {
      if (query['continue'] === undefined || !isFirst) return undefined;
      isFirst = false;
      world.api.remove('Service', 'shop', 's0');
      world.api.compact();
      return undefined;
    };
    await world.source.start();
    await world.settled();
    expect(world.api.count('list', 'Service')).toBe(2);
  });

  it('waits for an API server that is not there yet', async () => {
    const world = await createWorld({ fill: fillShop });
    const { port } = world.api;
    await world.api.close();
    const started = world.source.start();
    await world.until(() => world.told.length > 0, 'a Diagnostic');
    expect(world.told[0]).toMatchObject({ severity: 'warning', code: 'ApiServerUnavailable' });
    expect(world.batches).toHaveLength(0);
    await world.api.listen(port);
    await started;
    await world.settled();
    await world.until(() => world.source.diagnostics().length === 0, 'the Diagnostic is gone');
  });

  it('rejects when it is stopped before it is over', async () => {
    const world = await createWorld({ fill: fillShop });
    world.api.misbehave = ({ kind }) => (kind === 'Service' ? 'hang' : undefined);
    const started = world.source.start();
    const rejected = expect(started).rejects.toThrow('stopped');
    await world.until(() => world.api.count('list', 'Service') === 1, 'the request');
    await world.source.stop();
    await rejected;
  });
});

describe('permissions', () => {
  it('does without IngressClass, says what to grant, and sees when it is granted', async () => {
    const world = await createWorld({ fill: fillShop, factor: 500 });
    let isGranted = false;
    world.api.misbehave = ({ kind }) =>
      kind === 'IngressClass' && !isGranted ? { status: 403, reason: 'Forbidden' } : undefined;
    await world.source.start();
    await world.settled('IngressClass nginx');
    await world.until(() => world.told.length > 0, 'a Diagnostic');
    expect(world.told[0]).toMatchObject({ severity: 'warning', code: 'ApiServerRefuses' });
    expect(world.told[0]?.message).toContain('list and watch on ingressclasses (apiGroup "networking.k8s.io")');
    isGranted = true;
    await world.settled();
    await world.until(() => world.source.diagnostics().length === 0, 'no Diagnostic');
  });

  it.each([403, 404])('is not ready without a kind that is needed (%i), and heals', async (status) => {
    const world = await createWorld({ fill: fillShop, factor: 500 });
    let isGranted = false;
    world.api.misbehave = ({ kind }) => (kind === 'EndpointSlice' && !isGranted ? { status, reason: 'No' } : undefined);
    const started = world.source.start();
    await world.until(() => world.told.length > 0, 'a Diagnostic');
    expect(world.told[0]).toMatchObject({ severity: 'error', code: 'ApiServerRefuses' });
    await world.until(() => world.api.count('list', 'EndpointSlice') > 3, 'more attempts');
    expect(world.batches).toHaveLength(0);
    isGranted = true;
    await started;
    await world.settled();
  });

  it('keeps what it has when a permission is taken away', async () => {
    const world = await createWorld({ fill: fillShop, factor: 500 });
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    world.api.misbehave = ({ kind }) => (kind === 'Service' ? { status: 403, reason: 'Forbidden' } : undefined);
    world.api.cut('end');
    await world.until(() => world.source.diagnostics().length > 0, 'a Diagnostic');
    expect(world.source.diagnostics()).toMatchObject([{ severity: 'error', code: 'ApiServerRefuses' }]);
    expect(world.known.has('Service shop/web')).toBe(true);
  });
});

describe('objects', () => {
  it('that do not decode keep their last good version and get a Diagnostic', async () => {
    const world = await createWorld({ fill: fillShop });
    const bad = { metadata: { namespace: 'shop', name: 'bad' }, spec: { rules: 'none' } };
    world.api.put('Ingress', bad);
    await world.source.start();
    await world.settled('Ingress shop/bad');
    await world.until(() => world.told.length > 0, 'a Diagnostic');
    expect(world.told).toMatchObject([
      { code: 'ObjectInvalid', field: 'spec.rules', ref: { kind: 'Ingress', namespace: 'shop', name: 'bad' } },
    ]);
    world.api.put('Ingress', { ...bad, metadata: { namespace: 'shop', name: 'web' } });
    await world.until(() => world.source.diagnostics().length === 2, 'two Diagnostics');
    expect(world.known.has('Ingress shop/web')).toBe(true);
    world.api.put('Ingress', ingress('web'));
    world.api.remove('Ingress', 'shop', 'bad');
    await world.settled('Secret shop/tls');
    await world.until(() => world.source.diagnostics().length === 0, 'no Diagnostic');
  });
});
