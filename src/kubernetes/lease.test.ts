import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { FakeApi, type Fault, ManualClock, settle } from '../../test/support/kubernetes-api.ts';
import { createLeaderElection, createSoleLeader, type LeaderElection } from './lease.ts';

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/ingress/leases/ingress-controller-leader';
const LEASE_MS = 30_000;

let clock: ManualClock;
let api: FakeApi;

beforeEach(() => {
  clock = new ManualClock();
  api = new FakeApi(clock);
});

interface Replica {
  readonly election: LeaderElection;
  readonly changes: boolean[];
  readonly problems: string[];
  /** What happens to every request of this replica. */
  fault: Fault;
}

function replica(identity: string): Replica {
  const changes: boolean[] = [];
  const problems: string[] = [];
  const election = createLeaderElection({
    client: api.client(() => self.fault),
    namespace: 'ingress',
    name: 'ingress-controller-leader',
    identity,
    leaseMs: LEASE_MS,
    clock,
    onChange: (leading) => changes.push(leading),
    onProblem: (message) => problems.push(message),
  });
  const self: Replica = { election, changes, problems, fault: undefined };
  return self;
}

function spec(): Record<string, unknown> {
  return api.get(LEASE)?.['spec'] as Record<string, unknown>;
}

/** The Lease as another controller leaves it. */
function heldBy(holderIdentity: string, more: Record<string, unknown> = {}): void {
  api.put(LEASE, {
    metadata: { labels: { 'app.kubernetes.io/name': 'ingress-nginx' } },
    spec: {
      holderIdentity,
      leaseDurationSeconds: 30,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: 3,
      ...more,
    },
  });
}

/** Seconds that pass before `condition` holds, looked at each 100 ms. */
async function secondsUntil(condition: () => boolean, atMost: number): Promise<number> {
  const begin = clock.now();
  while (!condition()) {
    if (clock.now() - begin > atMost * 1000) throw new Error(`not within ${atMost} s`);
    await clock.advance(100);
  }
  return (clock.now() - begin) / 1000;
}

describe('a free Lease', () => {
  it('is made when there is none, and renewed', async () => {
    const { election, changes, problems } = replica('pod-a');
    election.start();
    await settle();
    expect(changes).toEqual([true]);
    expect(spec()).toEqual({
      holderIdentity: 'pod-a',
      leaseDurationSeconds: 30,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    });
    await clock.advance(300_000);
    expect(election.leading).toBe(true);
    expect([changes, problems]).toEqual([[true], []]);
    // One request for each quarter of the lease, without reading before.
    expect(api.calls()).toEqual([
      `GET ${LEASE}`,
      `POST ${LEASE.slice(0, LEASE.lastIndexOf('/'))}`,
      ...Array(40).fill(`PUT ${LEASE}`),
    ]);
    expect(spec()).toMatchObject({
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:05:00.000000Z',
    });
  });

  it('is made again by its holder when somebody deletes it', async () => {
    const { election, changes } = replica('pod-a');
    election.start();
    await settle();
    api.remove(LEASE);
    await clock.advance(10_000);
    expect(spec()).toMatchObject({ holderIdentity: 'pod-a' });
    expect(changes).toEqual([true]);
  });

  it('goes to one of those who want it', async () => {
    const replicas = ['pod-a', 'pod-b', 'pod-c'].map(replica);
    for (const { election } of replicas) election.start();
    await clock.advance(60_000);
    expect(replicas.filter(({ election }) => election.leading)).toHaveLength(1);
  });
});

describe('a Lease of another controller', () => {
  it.each(['2020-01-01T00:00:00.000000Z', '2099-01-01T00:00:00.000000Z'])(
    'counts from when it was first seen, whatever its time stamps say (%s)',
    async (renewTime) => {
      heldBy('ingress-nginx-pod', { renewTime });
      const { election, changes } = replica('pod-a');
      election.start();
      expect(await secondsUntil(() => election.leading, 40)).toBeCloseTo(30, 0);
      expect(changes).toEqual([true]);
      expect(spec()).toMatchObject({ holderIdentity: 'pod-a', leaseTransitions: 4 });
      expect(api.get(LEASE)).toMatchObject({ metadata: { labels: { 'app.kubernetes.io/name': 'ingress-nginx' } } });
    },
  );

  it('counts for as long as its holder promised', async () => {
    heldBy('ingress-nginx-pod', { leaseDurationSeconds: 60 });
    const { election } = replica('pod-a');
    election.start();
    expect(await secondsUntil(() => election.leading, 70)).toBeCloseTo(60, 0);
  });

  it('is left alone while it is renewed, and followed soon after the last renewal', async () => {
    const { election, changes } = replica('pod-a');
    heldBy('ingress-nginx-pod');
    election.start();
    for (let renewal = 1; renewal <= 20; renewal++) {
      await clock.advance(7_500);
      heldBy('ingress-nginx-pod', { renewTime: `2026-01-01T00:00:00.0000${renewal + 10}Z` });
    }
    expect(changes).toEqual([]);
    expect(api.calls(/PUT/)).toEqual([]);
    const seconds = await secondsUntil(() => election.leading, 60);
    expect(seconds).toBeGreaterThanOrEqual(30);
    expect(seconds).toBeLessThan(40);
  });

  it('is not fought for when it has taken over', async () => {
    const { election, changes } = replica('pod-a');
    election.start();
    await settle();
    heldBy('ingress-nginx-pod');
    await clock.advance(8_000);
    expect(changes).toEqual([true, false]);
    expect(spec()).toMatchObject({ holderIdentity: 'ingress-nginx-pod' });
  });

  it('is taken at once when its holder gave it up', async () => {
    heldBy('');
    const { election } = replica('pod-a');
    election.start();
    await settle();
    expect(election.leading).toBe(true);
  });

  it('is our own when it holds our name: a restarted container', async () => {
    heldBy('pod-a');
    const { election } = replica('pod-a');
    election.start();
    await settle();
    expect(election.leading).toBe(true);
    expect(spec()).toMatchObject({ leaseTransitions: 3, acquireTime: '2026-01-01T00:00:00.000000Z' });
  });
});

describe('a leader that cannot renew', () => {
  it.each<Fault>(['hang', 'reset', { status: 500 }, { status: 429 }, { status: 403 }])(
    'steps down before anybody else can lead (%j)',
    async (fault) => {
      const [a, b] = [replica('pod-a'), replica('pod-b')];
      a.election.start();
      await settle();
      b.election.start();
      await clock.advance(20_000);
      a.fault = fault;
      const down = await secondsUntil(() => !a.election.leading, 30);
      expect(down).toBeLessThanOrEqual(15);
      expect(a.changes).toEqual([true, false]);
      expect(b.changes).toEqual([]);
      expect(await secondsUntil(() => b.election.leading, 45)).toBeGreaterThan(10);
      // Back again: no fight.
      a.fault = undefined;
      await clock.advance(120_000);
      expect([a.changes, b.changes]).toEqual([[true, false], [true]]);
    },
  );

  it('goes on when the answer to a renewal was lost', async () => {
    const [a, b] = [replica('pod-a'), replica('pod-b')];
    a.election.start();
    await settle();
    b.election.start();
    for (let time = 0; time < 10; time++) {
      a.fault = 'lost-answer';
      await clock.advance(8_000);
      a.fault = undefined;
      await clock.advance(10_000);
    }
    expect([a.changes, b.changes]).toEqual([[true], []]);
  });

  it('goes on when somebody else touches the Lease', async () => {
    const { election, changes } = replica('pod-a');
    election.start();
    await settle();
    for (let minute = 0; minute < 5; minute++) {
      api.put(LEASE, { ...api.get(LEASE), metadata: { annotations: { touched: String(minute) } } });
      await clock.advance(60_000);
    }
    expect(changes).toEqual([true]);
    expect(api.get(LEASE)).toMatchObject({ metadata: { annotations: { touched: '4' } } });
  });

  it('knows by itself that its time is over, also when its timers are late', async () => {
    const { election } = replica('pod-a');
    election.start();
    await settle();
    // As after SIGSTOP: time has passed, nothing has run.
    Object.assign(clock, { time: clock.now() + 16_000 });
    expect(election.leading).toBe(false);
  });
});

describe('without permission', () => {
  it('it is told once, looks seldom, and leads once it is granted', async () => {
    const pod = replica('pod-a');
    pod.fault = { status: 403, body: { reason: 'Forbidden', message: 'leases is forbidden' } };
    pod.election.start();
    await clock.advance(600_000);
    expect(pod.problems).toEqual([
      'Lease ingress/ingress-controller-leader: no part in the leader election: The API server answered 403: leases is forbidden; grant get, create and update on leases (coordination.k8s.io) in this namespace',
    ]);
    expect(api.calls().length).toBeLessThanOrEqual(21);
    expect(pod.changes).toEqual([]);
    pod.fault = undefined;
    await clock.advance(40_000);
    expect(pod.changes).toEqual([true]);
  });
});

describe('the holder', () => {
  it('is whoever is in the Lease, for as long as it is there', async () => {
    const { election } = replica('pod-a');
    expect(await election.holder()).toBe('');
    heldBy('pod-b');
    expect(await election.holder()).toBe('pod-b');
    heldBy('');
    expect(await election.holder()).toBe('');
    expect(await createSoleLeader({ onChange: () => {} }).holder()).toBe('');
  });

  it('is not known when the Lease cannot be read', async () => {
    const one = replica('pod-a');
    one.fault = { status: 403 };
    await expect(one.election.holder()).rejects.toThrow('403');
  });
});

describe('the end', () => {
  it('of the leader gives the Lease up: the next one leads within seconds', async () => {
    const [a, b] = [replica('pod-a'), replica('pod-b')];
    a.election.start();
    await settle();
    b.election.start();
    await clock.advance(100_000);
    await a.election.stop();
    expect(a.changes).toEqual([true, false]);
    expect(spec()).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    expect(await secondsUntil(() => b.election.leading, 10)).toBeLessThan(10);
    await clock.advance(100_000);
    expect(a.changes).toEqual([true, false]);
  });

  it('of a leader whose renewal hangs comes at once', async () => {
    const a = replica('pod-a');
    a.election.start();
    await settle();
    a.fault = 'hang';
    await clock.advance(8_000);
    a.fault = undefined;
    await a.election.stop();
    expect(spec()).toMatchObject({ holderIdentity: '' });
  });

  it('of another leaves the Lease alone', async () => {
    const [a, b] = [replica('pod-a'), replica('pod-b')];
    a.election.start();
    await settle();
    b.election.start();
    await clock.advance(10_000);
    const before = api.calls(/PUT/).length;
    await b.election.stop();
    await clock.advance(1_000);
    expect(api.calls(/PUT/).length).toBe(before);
    expect(spec()).toMatchObject({ holderIdentity: 'pod-a' });
  });

  it('without an API server takes seconds, not forever', async () => {
    const a = replica('pod-a');
    a.election.start();
    await settle();
    a.fault = 'hang';
    let ended = false;
    const stopping = a.election.stop().then(() => {
      ended = true;
    });
    await clock.advance(7_000);
    expect(ended).toBe(true);
    await stopping;
  });
});

it('never has two leaders, and has one once all is well', async () => {
  const faults = fc.constantFrom<Fault>(
    undefined,
    undefined,
    'hang',
    'reset',
    'lost-answer',
    { status: 500 },
    { status: 409 },
  );
  const step = fc.record({
    who: fc.nat(2),
    fault: faults,
    seconds: fc.integer({ min: 1, max: 25 }),
    luck: fc.double({ min: 0, max: 0.99, noNaN: true }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      clock = new ManualClock();
      api = new FakeApi(clock);
      const replicas = ['pod-a', 'pod-b', 'pod-c'].map(replica);
      const leaders = () => replicas.filter(({ election }) => election.leading).length;
      for (const { election } of replicas) election.start();
      for (const { who, fault, seconds, luck } of steps) {
        clock.luck = luck;
        const one = replicas[who];
        if (one !== undefined) one.fault = fault;
        for (let second = 0; second < seconds; second++) {
          await clock.advance(1_000);
          expect(leaders()).toBeLessThanOrEqual(1);
        }
      }
      for (const one of replicas) one.fault = undefined;
      await clock.advance(60_000);
      expect(leaders()).toBe(1);
    }),
    { numRuns: 40 },
  );
});

it('leads alone when the election is disabled', async () => {
  const changes: boolean[] = [];
  const election = createSoleLeader({ onChange: (leading) => changes.push(leading) });
  expect(election.leading).toBe(false);
  election.start();
  expect(election.leading).toBe(true);
  await election.stop();
  expect(changes).toEqual([true, false]);
});
