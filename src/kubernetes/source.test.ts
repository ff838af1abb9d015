import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { ObjectChange } from '../cluster/cluster-state.ts';
import type { Ingress, ObjectKind } from '../cluster/objects.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { type ObjectRef, objectKey } from '../model/object-ref.ts';
import type { WatchedKind } from './kinds.ts';
import { createKubernetesSource, type KubernetesSource, type SourceEvent } from './source.ts';
import { createFastClock, FakeApiServer, type Misbehaviour, type RawObject } from './testing.ts';

/** What a reader of the source has, by `Kind namespace/name`: the resourceVersion. */
type Known = Map<string, string | undefined>;

interface World {
  readonly api: FakeApiServer;
  readonly source: KubernetesSource;
  readonly known: Known;
  readonly batches: (readonly ObjectChange[])[];
  readonly events: SourceEvent[];
  readonly told: Diagnostic[];
  until(condition: () => boolean, what: string): Promise<void>;
  /** Waits until what is known is what the API server has, of what is wanted. */
  settled(...absent: string[]): Promise<void>;
}

const open: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});

interface Options {
  readonly fill?: (api: FakeApiServer) => void;
  readonly namespace?: string;
  readonly namespaceSelector?: string;
  readonly named?: readonly ObjectRef[];
  /** How much faster than time. */
  readonly factor?: number;
  readonly idleMs?: number;
}

async function createWorld({ fill, factor = 50, named = [], ...options }: Options = {}): Promise<World> {
  const api = new FakeApiServer();
  await api.listen();
  fill?.(api);
  const known: Known = new Map();
  const batches: (readonly ObjectChange[])[] = [];
  const events: SourceEvent[] = [];
  const told: Diagnostic[] = [];
  const source = createKubernetesSource({
    client: api.client(),
    ...options,
    named,
    referencesOf,
    clock: createFastClock(factor),
    observe: (event) => events.push(event),
    onDiagnostics: ({ added }) => told.push(...added),
    onChanges(changes) {
      batches.push(changes);
      for (const change of changes) {
        if ('upsert' in change) known.set(keyOf(change.upsert), change.upsert.resourceVersion);
        else known.delete(keyOf(change.remove));
      }
    },
  });
  open.push({
    stop: async () => {
      await source.stop();
      await api.close();
    },
  });
  const until = async (condition: () => boolean, what: string) => {
    const deadline = Date.now() + 10_000;
    while (!condition()) {
      if (Date.now() > deadline) throw new Error(`Not within 10 s: ${what}. Known: ${[...known.keys()].join(', ')}`);
      await delay(2);
    }
  };
  return {
    api,
    source,
    known,
    batches,
    events,
    told,
    until,
    settled: async (...absent) => {
      const expected = () => api.present().filter(([key]) => !absent.includes(key));
      await until(
        () => JSON.stringify([...known].sort()) === JSON.stringify(expected().sort()),
        `the same as the API server: ${JSON.stringify(expected())}`,
      );
    },
  };
}

function referencesOf(ingress: Ingress): ObjectRef[] {
  return ingress.tls.map(({ secretName = '' }) => ({ kind: 'Secret', namespace: ingress.namespace, name: secretName }));
}

function keyOf(object: { readonly kind: ObjectKind; readonly namespace: string; readonly name: string }): string {
  return `${object.kind} ${objectKey(object)}`;
}

function ingress(name: string, secret?: string, namespace = 'shop'): RawObject {
  const backend = { service: { name: 'web', port: { number: 80 } } };
  return {
    metadata: { namespace, name },
    spec: {
      rules: [{ host: `${name}.example.com`, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }],
      ...(secret !== undefined && { tls: [{ secretName: secret }] }),
    },
  };
}

function service(name: string, namespace = 'shop'): RawObject {
  return { metadata: { namespace, name }, spec: { ports: [{ port: 80 }] } };
}

function slice(name: string, of: string, namespace: string): RawObject {
  const labels = { 'kubernetes.io/service-name': of };
  return { metadata: { namespace, name, labels }, addressType: 'IPv4', ports: [{ port: 80 }], endpoints: [] };
}

function secret(name: string, namespace = 'shop', type = 'kubernetes.io/tls'): RawObject {
  return { metadata: { namespace, name }, type, data: { 'tls.key': Buffer.from(`key of ${name}`).toString('base64') } };
}

function fillShop(api: FakeApiServer): void {
  api.put('IngressClass', { metadata: { name: 'nginx' }, spec: { controller: 'k8s.io/ingress-nginx' } });
  api.put('Ingress', ingress('web', 'tls'));
  api.put('Service', service('web'));
  api.put('Secret', secret('tls'));
}

/** Misbehaves the first `times` that a request of that kind and verb comes. */
function misbehaveFirst(
  api: FakeApiServer,
  verb: 'list' | 'watch',
  kind: WatchedKind,
  misbehaviour: Misbehaviour,
  times = 1,
): void {
  let left = times;
  api.misbehave = (request) => {
    if (request.verb !== verb || request.kind !== kind || left === 0) return undefined;
    left -= 1;
    return misbehaviour;
  };
}

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

  it.each(['end', 'reset'] as const)('goes on where it was after %s, also from a bookmark', async (how) => {
    const world = await createWorld({ fill: fillShop });
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    // Only the bookmark saves kinds that are quiet from a version that is too old.
    world.api.put('ConfigMap', { metadata: { namespace: 'shop', name: 'nobody' } });
    world.api.bookmark();
    world.api.compact();
    await world.until(() => world.events.length > 0, 'events');
    world.api.put('Service', service('new'));
    await world.settled('ConfigMap shop/nobody');
    world.api.cut(how);
    world.api.put('Service', service('during'));
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
    expect(requests).toBeGreaterThanOrEqual(3);
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

describe('references', () => {
  it('hands a new Ingress over together with its Secret, which is read by a list', async () => {
    const world = await createWorld({ fill: fillShop });
    world.api.put('Secret', secret('late'));
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    world.api.put('Ingress', ingress('late', 'late'));
    await world.settled();
    expect(world.batches).toHaveLength(2);
    expect(world.batches[1]?.map((change) => 'upsert' in change && keyOf(change.upsert))).toEqual([
      'Secret shop/late',
      'Ingress shop/late',
    ]);
    const read = world.api.requests.at(-1);
    expect(read).toMatchObject({
      path: '/api/v1/namespaces/shop/secrets',
      query: { fieldSelector: 'metadata.name=late' },
    });
    expect(world.api.count('list', 'Secret')).toBe(1);
  });

  it('holds only the Ingress that waits, and that for five seconds at most', async () => {
    const world = await createWorld({ fill: fillShop, factor: 10 });
    world.api.put('Secret', secret('late'));
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    const isByName = (fieldSelector = '') => fieldSelector.startsWith('metadata.name');
    let isHanging = true;
    world.api.misbehave = ({ query }) => (isHanging && isByName(query['fieldSelector']) ? { status: 500 } : undefined);
    world.api.put('Ingress', ingress('late', 'late'));
    world.api.put('Ingress', ingress('other'));
    await world.until(() => world.known.has('Ingress shop/other'), 'the other Ingress');
    expect(world.known.has('Ingress shop/late')).toBe(false);
    const version = world.api.put('Ingress', ingress('late', 'late'));
    await world.until(() => world.known.has('Ingress shop/late'), 'the Ingress without its Secret');
    expect(world.known.get('Ingress shop/late')).toBe(version);
    expect(world.known.has('Secret shop/late')).toBe(false);
    isHanging = false;
    await world.settled();
  });

  it('lets an Ingress through whose Secret does not exist, and brings the Secret when it does', async () => {
    const world = await createWorld({ fill: fillShop });
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    world.api.put('Ingress', ingress('late', 'late'));
    await world.settled();
    world.api.put('Secret', secret('late'));
    await world.settled();
    expect(world.events.filter(({ type }) => type === 'read')).toHaveLength(1);
  });

  it('forgets a Secret with the last reference, and reads it again for a new one', async () => {
    const world = await createWorld({ fill: fillShop });
    world.api.put('Ingress', ingress('second', 'tls'));
    await world.source.start();
    await world.until(() => world.api.watches.size === 6, 'all watches');
    world.api.remove('Ingress', 'shop', 'web');
    await world.settled();
    world.api.put('Ingress', ingress('second'));
    await world.settled('Secret shop/tls');
    world.api.put('Secret', secret('tls'));
    world.api.put('Ingress', ingress('second', 'tls'));
    await world.settled();
  });

  it('keeps what flags name, wherever it is', async () => {
    const named = [
      { kind: 'Secret', namespace: 'system', name: 'default' },
      { kind: 'ConfigMap', namespace: 'system', name: 'options' },
      { kind: 'Service', namespace: 'system', name: 'backend' },
    ];
    const world = await createWorld({
      namespace: 'shop',
      named,
      fill: (api) => {
        fillShop(api);
        api.put('Secret', secret('default', 'system'));
        api.put('Secret', secret('other', 'system'));
        api.put('ConfigMap', { metadata: { namespace: 'system', name: 'options' }, data: { a: 'b' } });
        api.put('Service', service('other', 'system'));
        api.put('EndpointSlice', slice('backend-1', 'backend', 'system'));
        api.put('EndpointSlice', slice('other-1', 'other', 'system'));
        api.put('Ingress', ingress('foreign', undefined, 'elsewhere'));
      },
    });
    const absent = [
      'Secret system/other',
      'Service system/other',
      'EndpointSlice system/other-1',
      'Ingress elsewhere/foreign',
    ];
    await world.source.start();
    await world.settled(...absent);
    expect(world.api.requests.every(({ namespace, kind }) => namespace !== undefined || kind === 'IngressClass')).toBe(
      true,
    );
    world.api.put('Service', service('backend', 'system'));
    world.api.put('Secret', secret('default', 'system'));
    await world.settled(...absent);
    world.api.remove('ConfigMap', 'system', 'options');
    world.api.put('EndpointSlice', slice('backend-2', 'backend', 'system'));
    world.api.remove('EndpointSlice', 'system', 'backend-1');
    await world.settled(...absent);
  });
});

describe('namespace selector', () => {
  const namespace = (name: string, team?: string): RawObject => ({
    metadata: { name, ...(team !== undefined && { labels: { team } }) },
  });

  it('brings and removes the objects of namespaces that start or cease to match', async () => {
    const world = await createWorld({
      namespaceSelector: 'team=a',
      named: [{ kind: 'Service', namespace: 'other', name: 'backend' }],
      fill: (api) => {
        fillShop(api);
        api.put('Namespace', namespace('shop', 'a'));
        api.put('Namespace', namespace('other', 'b'));
        api.put('Ingress', ingress('web', 'tls', 'other'));
        api.put('Secret', secret('tls', 'other'));
        api.put('Service', service('backend', 'other'));
        api.put('EndpointSlice', slice('backend-1', 'backend', 'other'));
        api.put('EndpointSlice', slice('web-1', 'web', 'other'));
      },
    });
    const namespaces = ['Namespace shop', 'Namespace other'];
    await world.source.start();
    const other = ['Ingress other/web', 'Secret other/tls', 'EndpointSlice other/web-1'];
    await world.settled(...namespaces, ...other);
    world.api.put('Namespace', namespace('other', 'a'));
    await world.settled(...namespaces);
    world.api.put('Namespace', namespace('shop', 'b'));
    await world.settled(...namespaces, 'Ingress shop/web', 'Secret shop/tls', 'Service shop/web');
    world.api.put('Service', service('web'));
    world.api.remove('Namespace', '', 'other');
    await world.settled(...namespaces, ...other, 'Ingress shop/web', 'Secret shop/tls', 'Service shop/web');
    world.api.remove('EndpointSlice', 'other', 'backend-1');
    await world.settled(...namespaces, ...other, 'Ingress shop/web', 'Secret shop/tls', 'Service shop/web');
    expect(world.known.has('Service other/backend')).toBe(true);
    for (const kind of ['Ingress', 'Secret', 'Service', 'Namespace'] as const) {
      expect(world.api.count('list', kind), kind).toBe(1);
    }
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
