import { beforeEach, describe, expect, it } from 'vitest';
import { FakeApi, ManualClock, settle } from '../../test/support/kubernetes-api.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { createEventReports } from './event-reports.ts';
import { createEventRecorder, type EventRecord, type EventRecorder } from './events.ts';

let clock: ManualClock;
let api: FakeApi;
let recorder: EventRecorder;
let problems: string[];

beforeEach(() => {
  clock = new ManualClock();
  api = new FakeApi(clock);
  problems = [];
  recorder = createEventRecorder({
    client: api,
    component: 'nginx-ingress-controller',
    host: 'pod-a',
    clock,
    onProblem: (message) => problems.push(message),
  });
});

const EVENTS = '/api/v1/namespaces/shop/events';

function event(name = 'web', more: Partial<EventRecord> = {}): EventRecord {
  const ref = { kind: 'Ingress', namespace: 'shop', name };
  return { ref, uid: `uid-${name}`, type: 'Normal', reason: 'Sync', message: 'Scheduled for sync', ...more };
}

function bodies(method: string): Record<string, unknown>[] {
  return api.requests.filter((one) => one.method === method).map(({ body }) => body as Record<string, unknown>);
}

it('is what kubectl describe looks for', async () => {
  recorder.record(event('web', { resourceVersion: '7' }));
  await settle();
  expect(api.calls()).toEqual([`POST ${EVENTS}`]);
  expect(bodies('POST')).toEqual([
    {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: expect.stringMatching(/^web\.[0-9a-f]{16}$/), namespace: 'shop' },
      involvedObject: {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'Ingress',
        namespace: 'shop',
        name: 'web',
        uid: 'uid-web',
        resourceVersion: '7',
      },
      type: 'Normal',
      reason: 'Sync',
      message: 'Scheduled for sync',
      source: { component: 'nginx-ingress-controller', host: 'pod-a' },
      reportingComponent: 'nginx-ingress-controller',
      reportingInstance: 'pod-a',
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      count: 1,
    },
  ]);
});

it('of an object without a namespace stands in default', async () => {
  recorder.record(event('', { ref: { kind: 'IngressClass', namespace: '', name: 'nginx' } }));
  await settle();
  expect(api.calls()).toEqual(['POST /api/v1/namespaces/default/events']);
  expect(bodies('POST')[0]?.['involvedObject']).not.toHaveProperty('namespace');
});

it('has at most 1,024 bytes of whole characters', async () => {
  recorder.record(event('web', { message: 'x'.repeat(1_024) }));
  recorder.record(event('web', { message: 'é'.repeat(1_000) }));
  recorder.record(event('web', { message: `x${'€'.repeat(1_000)}` }));
  await settle();
  const messages = bodies('POST').map(({ message }) => String(message));
  expect(messages).toEqual(['x'.repeat(1_024), `${'é'.repeat(510)}...`, `x${'€'.repeat(340)}...`]);
});

describe('the same again', () => {
  it('is counted in one Event, at most each 10 s', async () => {
    for (let second = 0; second < 20; second++) {
      recorder.record(event());
      await clock.advance(1_000);
    }
    await clock.advance(60_000);
    expect(api.calls(/POST/)).toHaveLength(1);
    expect(bodies('PATCH')).toEqual([
      { count: 10, lastTimestamp: '2026-01-01T00:00:09Z' },
      { count: 20, lastTimestamp: '2026-01-01T00:00:19Z' },
    ]);
    expect(api.list(EVENTS)).toMatchObject([{ count: 20, firstTimestamp: '2026-01-01T00:00:00Z' }]);
    expect(recorder.counters).toEqual({ created: 1, patched: 2, dropped: 0 });
  });

  it('is a new Event when the API server has forgotten the first', async () => {
    recorder.record(event());
    await settle();
    for (const { metadata } of api.list(EVENTS)) api.remove(`${EVENTS}/${(metadata as { name: string }).name}`);
    await clock.advance(3_600_000);
    recorder.record(event());
    await settle();
    expect(api.list(EVENTS)).toMatchObject([{ count: 2 }]);
  });

  it.each<[string, Partial<EventRecord>]>([
    ['message', { message: 'other' }],
    ['reason', { reason: 'Other' }],
    ['type', { type: 'Warning' }],
    ['uid: the object was made anew', { uid: 'other' }],
  ])('but of another %s is another Event', async (_, more) => {
    recorder.record(event());
    recorder.record(event('web', more));
    await settle();
    expect(api.list(EVENTS)).toHaveLength(2);
  });
});

describe('the limits', () => {
  it('of an object: 25 at once, then one in five minutes', async () => {
    for (let index = 0; index < 100; index++) recorder.record(event('web', { message: `${index}` }));
    recorder.record(event('api'));
    await settle();
    expect(api.calls(/POST/)).toHaveLength(26);
    await clock.advance(300_000);
    recorder.record(event('web', { message: 'a' }));
    recorder.record(event('web', { message: 'b' }));
    await settle();
    expect(api.calls(/POST/)).toHaveLength(27);
  });

  it('of all: 100 at once, then 20 in a second; what does not fit into the queue is left out, warnings last', async () => {
    for (let index = 0; index < 5_000; index++) recorder.record(event(`web${index}`));
    recorder.record(event('bad', { type: 'Warning', reason: 'ServiceNotFound' }));
    await settle();
    expect(api.calls(/POST/)).toHaveLength(100);
    expect(api.maxInFlight).toBe(4);
    expect(bodies('POST').slice(0, 10)).toContainEqual(expect.objectContaining({ reason: 'ServiceNotFound' }));
    await clock.advance(10_000);
    expect(api.calls(/POST/).length).toBeGreaterThanOrEqual(299);
    expect(api.calls(/POST/).length).toBeLessThanOrEqual(301);
    await clock.advance(600_000);
    const { created, dropped } = recorder.counters;
    expect([created + dropped, created <= 1_105]).toEqual([5_001, true]);
  });
});

describe('without permission', () => {
  it('it is told once for a namespace, tried seldom, and others go on', async () => {
    api.fault = ({ path }) =>
      path.includes('/shop/') ? { status: 403, body: { message: 'events is forbidden' } } : undefined;
    for (let minute = 0; minute < 60; minute++) {
      recorder.record(event(`web${minute}`));
      recorder.record(event('', { ref: { kind: 'IngressClass', namespace: '', name: `c${minute}` } }));
      await clock.advance(60_000);
    }
    expect(problems).toEqual([
      'Events in namespace shop cannot be sent: The API server answered 403: events is forbidden; grant create and patch on events',
    ]);
    expect(api.calls(/shop/)).toHaveLength(12);
    expect(api.list('/api/v1/namespaces/default/events')).toHaveLength(60);
    api.fault = () => undefined;
    await clock.advance(300_000);
    recorder.record(event());
    await settle();
    expect(api.list(EVENTS)).toHaveLength(1);
  });
});

it.each([
  { status: 404, body: { reason: 'NotFound' } },
  { status: 403, body: { reason: 'Forbidden', details: { causes: [{ reason: 'NamespaceTerminating' }] } } },
])('is left out in silence when its namespace goes (%j)', async (fault) => {
  api.fault = () => fault;
  recorder.record(event());
  recorder.record(event('api'));
  await clock.advance(60_000);
  expect([api.requests.length, problems]).toEqual([2, []]);
});

it.each(['hang' as const, 'reset' as const, { status: 503 }])(
  'waits for the API server without a storm (%j)',
  async (fault) => {
    api.fault = () => fault;
    for (let index = 0; index < 500; index++) recorder.record(event(`web${index}`));
    await clock.advance(600_000);
    expect(api.requests.length).toBeLessThan(40);
    expect(problems).toHaveLength(1);
    api.fault = () => undefined;
    await clock.advance(120_000);
    expect(api.list(EVENTS)).toHaveLength(500);
  },
);

describe('the end', () => {
  it('sends what was recorded', async () => {
    for (let index = 0; index < 20; index++) recorder.record(event(`web${index}`));
    await recorder.stop();
    expect(api.list(EVENTS)).toHaveLength(20);
    recorder.record(event('late'));
    await clock.advance(60_000);
    expect(api.list(EVENTS)).toHaveLength(20);
  });

  it('does not wait for an API server that is away', async () => {
    api.fault = () => 'hang';
    recorder.record(event());
    let ended = false;
    void recorder.stop().then(() => {
      ended = true;
    });
    await clock.advance(2_000);
    expect([ended, api.inFlight]).toEqual([true, 0]);
  });
});

describe('reports', () => {
  let recorded: EventRecord[];

  function reports(syncEvents = true) {
    recorded = [];
    return createEventReports({
      recorder: { record: (one) => recorded.push(one) },
      identify: ({ name }) => (name === 'gone' ? undefined : { uid: 'u', resourceVersion: '7' }),
      syncEvents,
    });
  }

  const ref = { kind: 'Ingress', namespace: 'shop', name: 'web' };
  const diagnostic = (more: Partial<Diagnostic>): Diagnostic => ({
    severity: 'error',
    code: 'ServiceNotFound',
    message: 'Service shop/api does not exist',
    ref,
    ...more,
  });

  it.each<[Partial<Diagnostic>, Partial<EventRecord>]>([
    [{}, { type: 'Warning', reason: 'ServiceNotFound', message: 'Service shop/api does not exist' }],
    [
      { severity: 'warning', field: 'spec.rules[0]' },
      { type: 'Warning', message: 'spec.rules[0]: Service shop/api does not exist' },
    ],
    [{ severity: 'info' }, { type: 'Normal', reason: 'ServiceNotFound' }],
    [
      { code: 'ProtectionUnavailable', message: 'auth-type', field: 'metadata.annotations' },
      { reason: 'AnnotationParsingFailed', message: 'Error parsing annotations: metadata.annotations: auth-type' },
    ],
  ])('make %j an Event', (more, expected) => {
    reports().diagnosed({ added: [diagnostic(more)], removed: [] });
    expect(recorded).toEqual([expect.objectContaining({ ref, uid: 'u', resourceVersion: '7', ...expected })]);
  });

  it('say nothing of what is gone, nor of what is about no object', () => {
    const { ref: _, ...aboutNothing } = diagnostic({});
    reports().diagnosed({ added: [aboutNothing], removed: [diagnostic({})] });
    expect(recorded).toEqual([]);
  });

  it('name an object that is not known without its uid', () => {
    reports().diagnosed({ added: [diagnostic({ ref: { ...ref, name: 'gone' } })], removed: [] });
    expect(recorded[0]).not.toHaveProperty('uid');
  });

  it('tell that Ingresses came or changed, unless that is not wished', () => {
    reports().ingressesChanged(['shop/web', 'shop/api']);
    expect(recorded).toMatchObject([
      { ref, type: 'Normal', reason: 'Sync', message: 'Scheduled for sync' },
      { ref: { name: 'api' } },
    ]);
    reports(false).ingressesChanged(['shop/web']);
    expect(recorded).toEqual([]);
  });

  it.each([
    [false, 'CREATE'],
    [true, 'UPDATE'],
  ])('tell of ConfigMaps that flags name (existed: %j)', (existed, reason) => {
    reports().configMapChanged('ingress/config', existed);
    expect(recorded).toMatchObject([
      { ref: { kind: 'ConfigMap', namespace: 'ingress', name: 'config' }, reason, message: 'ConfigMap ingress/config' },
    ]);
  });
});
