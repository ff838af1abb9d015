import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  createWorld,
  fillShop,
  ingress,
  misbehaveFirst,
  secret,
  service,
} from '../../test/support/kubernetes-source.ts';

describe('watching', () => {
  it('brings what is created, changed and deleted, without a further list', async () => {
    const world = await createWorld({ fill: fillShop });
    await world.source.start();
    world.api.put('Service', service('new'));
    world.api.put('Service', service('web'));
    world.api.remove('IngressClass', '', 'nginx');
    await world.settled();
    expect(world.api.count('list', 'Service')).toBe(1);
  });

  it('asks for bookmarks and for an end at a time that is not the same for all', async () => {
    const world = await createWorld();
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    const watches = world.api.requests.filter(({ verb }) => verb === 'watch');
    expect(watches.every(({ query }) => query['allowWatchBookmarks'] === 'true')).toBe(true);
    const seconds = watches.map(({ query }) => Number(query['timeoutSeconds']));
    expect(Math.min(...seconds)).toBeGreaterThanOrEqual(300);
    expect(Math.max(...seconds)).toBeLessThanOrEqual(600);
    expect(new Set(seconds).size).toBeGreaterThan(1);
  });

  it.each(['end', 'reset'] as const)('goes on where it was after %s', async (how) => {
    const world = await createWorld({ fill: fillShop });
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    world.api.put('Service', service('new'));
    await world.settled();
    world.api.cut(how);
    world.api.put('Service', service('during'));
    await world.settled();
    await world.until(() => world.api.watches.size === 6, 'all watches again');
    for (const kind of ['Ingress', 'Service', 'Secret'] as const) expect(world.api.count('list', kind), kind).toBe(1);
  });

  it('goes on from a bookmark when its last event is too old', async () => {
    const world = await createWorld({ fill: fillShop });
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    world.api.put('ConfigMap', { metadata: { namespace: 'shop', name: 'nobody' } });
    world.api.bookmark();
    world.api.compact();
    // After the bookmark, in the same stream.
    world.api.cut('end');
    world.api.put('Service', service('new'));
    await world.settled('ConfigMap shop/nobody');
    await world.until(() => world.api.watches.size === 6, 'all watches again');
    for (const kind of ['Ingress', 'Service', 'Secret'] as const) expect(world.api.count('list', kind), kind).toBe(1);
  });

  it.each([
    ['inside the stream', false],
    ['as HTTP status', true],
  ])('lists again when the version is gone, told %s, and applies deletions', async (_, byStatus) => {
    const world = await createWorld({ fill: fillShop });
    world.api.tellGoneByStatus = byStatus;
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    let isAway = true;
    world.api.misbehave = () => (isAway ? 'reset' : undefined);
    world.api.cut('reset');
    world.api.remove('Service', 'shop', 'web');
    world.api.put('Ingress', ingress('web', 'second'));
    world.api.put('Secret', secret('second'));
    world.api.put('Service', service('other'));
    world.api.compact();
    isAway = false;
    await world.settled('Secret shop/tls');
    expect(world.api.count('list', 'Service')).toBe(2);
    expect(world.batches.flat().filter((change) => 'remove' in change)).toHaveLength(2);
  });

  it('hands over only the difference when it lists again', async () => {
    const world = await createWorld({ fill: fillShop });
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    world.api.send('Service', { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
    await world.until(() => world.api.count('list', 'Service') === 2, 'the second list');
    world.api.put('Service', service('new'));
    await world.settled();
    expect(world.batches.slice(1).flat()).toHaveLength(1);
  });

  it('ignores an event that comes twice, and lists again when an older one comes', async () => {
    const world = await createWorld({ fill: fillShop });
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    const old = world.api.put('Service', service('web'));
    const version = world.api.put('Service', service('new'));
    const twice = { ...service('new'), apiVersion: 'v1', kind: 'Service' };
    world.api.send('Service', {
      type: 'DELETED',
      object: { ...twice, metadata: { ...twice.metadata, resourceVersion: version } },
    });
    world.api.put('Service', service('third'));
    await world.settled();
    expect(world.api.count('list', 'Service')).toBe(1);
    world.api.send('Service', {
      type: 'DELETED',
      object: { ...twice, metadata: { ...twice.metadata, resourceVersion: old } },
    });
    await world.until(() => world.api.count('list', 'Service') === 2, 'the second list');
    await world.settled();
    expect(world.known.has('Service shop/new')).toBe(true);
  });

  it('notices a server that hangs', async () => {
    const world = await createWorld({ fill: fillShop, idleMs: 150 });
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    const before = world.api.count('watch', 'Service');
    await world.until(() => world.api.count('watch', 'Service') > before, 'a new watch');
    expect(world.api.count('list', 'Service')).toBe(1);
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: 'failed', kind: 'Service', message: 'The API server: silent for 150 ms' }),
    );
  });

  it.each([
    ['ends at once', { raw: '' }],
    ['breaks', 'reset'],
    ['is refused', { status: 500 }],
    ['is gone again and again', { status: 410 }],
    ['sends what is no event', { raw: '{"some":"thing"}\n' }],
    ['sends no JSON', { raw: 'oops\n' }],
  ] as const)('does not spin when a watch %s', async (_, misbehaviour) => {
    const world = await createWorld({ fill: fillShop, factor: 1 });
    world.api.misbehave = ({ verb, kind }) => (verb === 'watch' && kind === 'Service' ? misbehaviour : undefined);
    await world.source.start();
    // Delays are at least 0.1, 0.2, 0.4 and 0.8 s.
    await delay(1000);
    const requests = world.api.requests.filter(({ kind }) => kind === 'Service').length;
    expect(requests).toBeLessThanOrEqual(10);
    expect(requests).toBeGreaterThanOrEqual(2);
    world.api.misbehave = () => undefined;
    world.api.put('Service', service('new'));
    await world.settled();
  });

  it('honours Retry-After', async () => {
    const world = await createWorld({ fill: fillShop });
    misbehaveFirst(world.api, 'watch', 'Service', { status: 429, headers: { 'Retry-After': '20' } });
    await world.source.start();
    await world.until(() => world.api.count('watch', 'Service') === 2, 'the second watch');
    const failed = world.events.find((event) => event.type === 'failed');
    expect(failed).toMatchObject({ kind: 'Service', status: 429, delayMs: 20_000 });
    await world.settled();
    expect(world.api.count('list', 'Service')).toBe(1);
  });

  it('comes back within seconds of an API server that was away for long, with the state kept', async () => {
    const world = await createWorld({ fill: fillShop, factor: 200 });
    await world.source.start();
    const { port } = world.api;
    await world.api.close();
    const failures = () => world.events.filter((event) => event.type === 'failed');
    await world.until(() => failures().length > 60, 'many failures');
    expect(Math.max(...failures().map((event) => ('delayMs' in event ? event.delayMs : 0)))).toBeLessThanOrEqual(3_000);
    expect(world.known.size).toBe(4);
    expect(world.source.diagnostics()).toMatchObject([{ code: 'ApiServerUnavailable', severity: 'warning' }]);
    await world.api.listen(port);
    world.api.put('Service', service('new'));
    await world.settled();
    expect(world.batches.flat().some((change) => 'remove' in change)).toBe(false);
    await world.until(() => world.source.diagnostics().length === 0, 'no Diagnostic');
  });
});
