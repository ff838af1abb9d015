import { beforeEach, describe, expect, it } from 'vitest';
import { FakeApi, type Fault, ManualClock, settle } from '../../test/support/kubernetes-api.ts';
import { loadBalancerOf } from '../cluster/decode-ingress.ts';
import { createStatusWriter, type StatusWriter } from './status.ts';

let clock: ManualClock;
let api: FakeApi;
let problems: string[];

beforeEach(() => {
  clock = new ManualClock();
  api = new FakeApi(clock);
  problems = [];
});

const INTERVAL_MS = 60_000;
const ACK_MS = 10_000;
const OURS = ['192.0.2.1', 'lb.example.com'];
const READY = { served: true, programmed: true };
const UNACKED = { served: true, programmed: false };
const LEFT = { served: false, programmed: false };

function writer(client: Pick<FakeApi, 'request'> = api): StatusWriter {
  return createStatusWriter({
    client,
    intervalMs: INTERVAL_MS,
    ackTimeoutMs: ACK_MS,
    clock,
    onProblem: (message) => problems.push(message),
  });
}

function leader(): StatusWriter {
  const made = writer();
  made.setLeading(true);
  made.setAddresses(OURS);
  return made;
}

function pathOf(key: string): string {
  const [namespace, name] = key.split('/');
  return `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses/${name}`;
}

/** An Ingress with these addresses in its status. */
function put(key: string, ...entries: object[]): void {
  api.put(pathOf(key), {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { namespace: key.split('/')[0], annotations: { 'example.com/a': 'b' } },
    spec: { rules: [{ host: 'shop.example.com' }] },
    status: { loadBalancer: { ingress: entries } },
  });
}

function statusOf(key: string): readonly string[] {
  return loadBalancerOf(api.get(pathOf(key)));
}

function keys(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `shop/web${index}`);
}

const writes = () => api.calls(/PUT/).length;
const reads = () => api.calls(/GET/).length;

describe('the address of an Ingress that is in force', () => {
  it('is written with everything else as it was, without ports', async () => {
    put('shop/web');
    const status = leader();
    status.update('shop/web', READY);
    await settle();
    expect(api.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      `GET ${pathOf('shop/web')}`,
      `PUT ${pathOf('shop/web')}/status`,
    ]);
    expect(api.requests[1]?.body).toMatchObject({
      metadata: { name: 'web', annotations: { 'example.com/a': 'b' } },
      spec: { rules: [{ host: 'shop.example.com' }] },
      status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }, { hostname: 'lb.example.com' }] } },
    });
  });

  it('is written once for each change of the addresses, and not when it is there', async () => {
    for (const key of keys(50)) put(key);
    const status = leader();
    for (const key of keys(50)) status.update(key, READY);
    await clock.advance(1_000);
    expect(writes()).toBe(50);
    for (const key of keys(50)) status.update(key, READY);
    await clock.advance(10 * INTERVAL_MS);
    expect([reads(), writes()]).toEqual([50, 50]);
    status.setAddresses(['192.0.2.9']);
    await clock.advance(1_000);
    expect([reads(), writes()]).toEqual([100, 100]);
    expect(keys(50).every((key) => statusOf(key).join() === '192.0.2.9')).toBe(true);
  });

  it.each([
    ['in another order', [{ hostname: 'lb.example.com' }, { ip: '192.0.2.1' }]],
    ['with ports', [{ ip: '192.0.2.1', ports: [{ port: 443, protocol: 'TCP' }] }, { hostname: 'lb.example.com' }]],
  ])('is left alone when it stands there %s', async (_, entries) => {
    put('shop/web', ...entries);
    const status = leader();
    status.update('shop/web', READY);
    await clock.advance(INTERVAL_MS);
    expect([reads(), writes()]).toEqual([1, 0]);
  });

  it('costs no request when the watch has shown it', async () => {
    put('shop/web', { ip: '192.0.2.1' }, { hostname: 'lb.example.com' });
    const status = leader();
    status.observe('shop/web', ['lb.example.com', '192.0.2.1']);
    status.update('shop/web', READY);
    await clock.advance(10 * INTERVAL_MS);
    expect(api.requests).toEqual([]);
  });

  it('waits for the addresses', async () => {
    put('shop/web');
    const status = writer();
    status.setLeading(true);
    status.update('shop/web', READY);
    await clock.advance(INTERVAL_MS);
    expect(api.requests).toEqual([]);
    status.setAddresses(OURS);
    await settle();
    expect(statusOf('shop/web')).toEqual(OURS);
  });

  it('is the newest one, however long a write takes', async () => {
    put('shop/web');
    const status = leader();
    let open = () => {};
    api.gate = new Promise((resolve) => {
      open = resolve;
    });
    status.update('shop/web', READY);
    await settle();
    status.setAddresses(['192.0.2.8']);
    status.setAddresses(['192.0.2.9']);
    open();
    await clock.advance(1_000);
    expect(statusOf('shop/web')).toEqual(['192.0.2.9']);
  });
});

describe('an Ingress that no proxy has in force', () => {
  it('gets its address from the leader after the time-out only', async () => {
    put('shop/web');
    const status = leader();
    status.update('shop/web', UNACKED);
    await clock.advance(ACK_MS - 1);
    expect(api.requests).toEqual([]);
    await clock.advance(1);
    expect(statusOf('shop/web')).toEqual(OURS);
  });

  it('gets none from others, until one of them leads', async () => {
    put('shop/web');
    const status = writer();
    status.setAddresses(OURS);
    status.update('shop/web', UNACKED);
    await clock.advance(10 * INTERVAL_MS);
    expect(api.requests).toEqual([]);
    status.setLeading(true);
    await settle();
    expect(statusOf('shop/web')).toEqual(OURS);
  });

  it('has been written by another replica: the leader does nothing', async () => {
    put('shop/web', { ip: '192.0.2.1' }, { hostname: 'lb.example.com' });
    const status = leader();
    status.update('shop/web', UNACKED);
    status.observe('shop/web', OURS);
    await clock.advance(10 * INTERVAL_MS);
    expect(api.requests).toEqual([]);
  });
});

describe('a replica that does not lead', () => {
  it('gives an address to those without one, and repairs nothing', async () => {
    put('shop/new');
    put('shop/old', { ip: '198.51.100.7' });
    const status = writer();
    status.setAddresses(OURS);
    for (const key of ['shop/new', 'shop/old']) status.update(key, READY);
    await clock.advance(10 * INTERVAL_MS);
    expect(statusOf('shop/new')).toEqual(OURS);
    expect(statusOf('shop/old')).toEqual(['198.51.100.7']);
    put('shop/new', { ip: '198.51.100.7' });
    status.observe('shop/new', ['198.51.100.7']);
    status.setAddresses(['192.0.2.9']);
    await clock.advance(10 * INTERVAL_MS);
    expect(writes()).toBe(1);
    status.setLeading(true);
    await settle();
    expect([statusOf('shop/new'), statusOf('shop/old')]).toEqual([['192.0.2.9'], ['192.0.2.9']]);
  });

  it('and another one at the same time: one write', async () => {
    put('shop/web');
    const both = [writer(), writer(), leader()];
    for (const status of both) {
      status.setAddresses(OURS);
      status.update('shop/web', READY);
    }
    await clock.advance(INTERVAL_MS);
    // Those who met the change of the first looked again, and saw that nothing was left to do.
    expect(both.reduce((sum, { counters }) => sum + counters.writes - counters.conflicts, 0)).toBe(1);
    expect(statusOf('shop/web')).toEqual(OURS);
  });
});

describe('what others write into the status', () => {
  it('is put right by the leader, once in an interval', async () => {
    put('shop/web');
    const status = leader();
    status.update('shop/web', READY);
    await settle();
    for (let time = 0; time < 20; time++) {
      put('shop/web', { ip: '198.51.100.7' });
      status.observe('shop/web', ['198.51.100.7']);
      await clock.advance(INTERVAL_MS / 20);
    }
    expect(writes()).toBe(2);
    await clock.advance(INTERVAL_MS);
    expect(statusOf('shop/web')).toEqual(OURS);
  });

  it('in between is met by reading again', async () => {
    put('shop/web');
    const status = leader();
    let conflicts = 3;
    api.fault = ({ method }) => {
      if (method === 'PUT' && conflicts-- > 0) put('shop/web', { ip: `198.51.100.${conflicts}` });
      return undefined;
    };
    status.update('shop/web', READY);
    await settle();
    expect(statusOf('shop/web')).toEqual(OURS);
    expect(status.counters).toEqual({ reads: 4, writes: 4, conflicts: 3, failures: 0 });
  });

  it('stays while we have no address', async () => {
    put('shop/web', { ip: '198.51.100.7' });
    const status = leader();
    status.setAddresses([]);
    status.update('shop/web', READY);
    await clock.advance(10 * INTERVAL_MS);
    expect(writes()).toBe(0);
  });

  it('goes when it is ours and we have no address any more', async () => {
    put('shop/web');
    const status = leader();
    status.update('shop/web', READY);
    await settle();
    status.setAddresses([]);
    await settle();
    expect(statusOf('shop/web')).toEqual([]);
  });
});

describe('an Ingress that goes to another class', () => {
  it.each<[string, object[], string[]]>([
    ['loses our addresses', [{ ip: '192.0.2.1' }, { hostname: 'lb.example.com' }], []],
    ['loses former addresses of ours', [{ ip: '192.0.2.200' }], []],
    ['keeps those of others', [{ ip: '198.51.100.7' }], ['198.51.100.7']],
    ['keeps ours with those of others', [{ ip: '192.0.2.1' }, { ip: '198.51.100.7' }], ['192.0.2.1', '198.51.100.7']],
  ])('%s', async (_, entries, expected) => {
    put('shop/web', { ip: '192.0.2.1' }, { hostname: 'lb.example.com' });
    const status = writer();
    status.setLeading(true);
    status.setAddresses(['192.0.2.200']);
    status.setAddresses(OURS);
    status.update('shop/web', READY);
    await settle();
    put('shop/web', ...entries);
    status.update('shop/web', LEFT);
    await clock.advance(10 * INTERVAL_MS);
    expect(statusOf('shop/web')).toEqual(expected);
    expect([reads(), writes()]).toEqual([2, expected.length === 0 ? 1 : 0]);
  });

  it('keeps its status when it was never ours', async () => {
    put('shop/web', { ip: '192.0.2.1' }, { hostname: 'lb.example.com' });
    const status = leader();
    status.observe('shop/web', OURS);
    status.update('shop/web', LEFT);
    await clock.advance(10 * INTERVAL_MS);
    expect(api.requests).toEqual([]);
  });

  it('is looked after by the next leader when the last one did not', async () => {
    put('shop/web');
    const status = writer();
    status.setAddresses(OURS);
    status.update('shop/web', READY);
    await settle();
    status.update('shop/web', LEFT);
    await clock.advance(INTERVAL_MS);
    expect(statusOf('shop/web')).toEqual(OURS);
    status.setLeading(true);
    await settle();
    expect(statusOf('shop/web')).toEqual([]);
  });

  it('and comes back gets its address again', async () => {
    put('shop/web');
    const status = leader();
    for (const state of [READY, LEFT, READY]) {
      status.update('shop/web', state);
      await settle();
    }
    expect(statusOf('shop/web')).toEqual(OURS);
    expect(writes()).toBe(3);
  });

  it('or is deleted costs nothing more', async () => {
    put('shop/web');
    put('shop/api');
    const status = leader();
    for (const key of ['shop/web', 'shop/api']) status.update(key, READY);
    await settle();
    const before = api.requests.length;
    api.remove(pathOf('shop/web'));
    status.remove('shop/web');
    status.update('shop/web', LEFT);
    api.remove(pathOf('shop/api'));
    status.update('shop/api', LEFT);
    await clock.advance(10 * INTERVAL_MS);
    expect(api.requests.length - before).toBe(1);
  });
});

describe('many Ingresses', () => {
  it('are written some at a time, within a rate, without delay', async () => {
    for (const key of keys(5_000)) put(key);
    const status = leader();
    for (const key of keys(5_000)) status.update(key, READY);
    await clock.advance(1_000);
    expect(api.maxInFlight).toBe(16);
    expect(writes()).toBeLessThanOrEqual(600);
    await clock.advance(19_000);
    expect([reads(), writes()]).toEqual([5_000, 5_000]);
  });
});

describe('without the API server', () => {
  it.each<Fault>(['hang', 'reset', 'lost-answer', { status: 500 }, { status: 503 }])(
    'nothing is lost and nothing storms (%j)',
    async (fault) => {
      for (const key of keys(200)) put(key);
      const status = leader();
      api.fault = () => fault;
      for (const key of keys(200)) status.update(key, READY);
      await clock.advance(600_000);
      expect(api.requests.length).toBeLessThan(80);
      expect(problems).toHaveLength(1);
      status.setAddresses(['192.0.2.9']);
      for (const key of keys(200).slice(100)) status.update(key, LEFT);
      api.fault = () => undefined;
      await clock.advance(60_000);
      expect(keys(100).filter((key) => statusOf(key).join() !== '192.0.2.9')).toEqual([]);
      expect(
        keys(200)
          .slice(100)
          .filter((key) => statusOf(key).length > 0),
      ).toEqual([]);
    },
  );

  it('waits for as long as the server asks', async () => {
    put('shop/web');
    const status = leader();
    api.fault = () => ({ status: 429, headers: { 'retry-after': '20' } });
    status.update('shop/web', READY);
    await clock.advance(19_999);
    expect(api.requests).toHaveLength(1);
    api.fault = () => undefined;
    await clock.advance(1);
    expect(statusOf('shop/web')).toEqual(OURS);
  });

  it('without permission: told once, tried seldom, healed by a grant', async () => {
    for (const key of keys(100)) put(key);
    const status = leader();
    api.fault = ({ method }) => (method === 'PUT' ? { status: 403, body: { message: 'is forbidden' } } : undefined);
    for (const key of keys(100)) status.update(key, READY);
    await clock.advance(600_000);
    expect(problems).toEqual([
      expect.stringMatching(
        /^Ingress shop\/web0: the status cannot be written: The API server answered 403: is forbidden; grant get on ingresses and update on ingresses\/status/,
      ),
    ]);
    expect(writes()).toBeLessThan(80);
    api.fault = () => undefined;
    await clock.advance(60_000);
    expect(keys(100).every((key) => statusOf(key).join() === OURS.join())).toBe(true);
  });

  it('addresses that it refuses are told and not repeated before the next interval', async () => {
    for (const key of keys(20)) put(key);
    const status = leader();
    api.fault = ({ method }) => (method === 'PUT' ? { status: 422, body: { message: 'is invalid' } } : undefined);
    for (const key of keys(20)) status.update(key, READY);
    await clock.advance(INTERVAL_MS - 1);
    expect([writes(), problems.length]).toEqual([20, 1]);
  });
});

describe('the end', () => {
  async function served(count: number): Promise<StatusWriter> {
    for (const key of keys(count)) put(key);
    const status = leader();
    for (const key of keys(count)) status.update(key, READY);
    await clock.advance(20_000);
    return status;
  }

  async function stop(status: StatusWriter, clear: boolean): Promise<number> {
    const begin = clock.now();
    let ended = false;
    void status.stop({ clear }).then(() => {
      ended = true;
    });
    while (!ended) await clock.advance(100);
    return clock.now() - begin;
  }

  it('of the last pod takes back what is ours and nothing else', async () => {
    const status = await served(3);
    put('shop/web1', { ip: '198.51.100.7' });
    put('shop/other', { ip: '192.0.2.1' }, { hostname: 'lb.example.com' });
    status.observe('shop/other', OURS);
    await stop(status, true);
    expect(['shop/web0', 'shop/web1', 'shop/web2'].map(statusOf)).toEqual([[], ['198.51.100.7'], []]);
    expect(statusOf('shop/other')).toEqual(OURS);
  });

  it('of 5,000 Ingresses is done within its time', async () => {
    const status = await served(5_000);
    expect(await stop(status, true)).toBeLessThan(25_000);
    expect(keys(5_000).filter((key) => statusOf(key).length > 0)).toEqual([]);
  });

  it('of one that does not lead takes them back, too; when two do so each status is written once', async () => {
    const [first, second] = [await served(3), await served(3)];
    second.setLeading(false);
    const done = () => [first, second].reduce((sum, { counters }) => sum + counters.writes - counters.conflicts, 0);
    const before = done();
    await Promise.all([stop(first, true), stop(second, true)]);
    expect(keys(3).map(statusOf)).toEqual([[], [], []]);
    expect(done() - before).toBe(3);
  });

  it('takes nothing back unless that is wished', async () => {
    const status = await served(3);
    const before = writes();
    await stop(status, false);
    expect(writes()).toBe(before);
  });

  it('lets a write come to its end and begins no other', async () => {
    put('shop/web');
    put('shop/api');
    const status = leader();
    let open = () => {};
    const held = new Promise<void>((resolve) => {
      open = resolve;
    });
    api.fault = ({ method }) => {
      if (method === 'PUT') api.gate = undefined;
      else api.gate = held;
      return undefined;
    };
    status.update('shop/web', READY);
    await settle();
    // The read was answered, the write waits.
    const stopping = status.stop({ clear: false });
    status.update('shop/api', READY);
    open();
    await clock.advance(1_000);
    await stopping;
    expect(statusOf('shop/web')).toEqual(OURS);
    expect(statusOf('shop/api')).toEqual([]);
    await clock.advance(600_000);
    expect(api.inFlight).toBe(0);
  });

  it.each<Fault>(['hang', 'reset'])('is bounded when the API server is away (%j)', async (fault) => {
    const status = await served(100);
    api.fault = () => fault;
    status.setAddresses(['192.0.2.9']);
    await settle();
    expect(await stop(status, true)).toBeLessThanOrEqual(11_000);
    const before = api.requests.length;
    api.fault = () => undefined;
    await clock.advance(600_000);
    expect(api.requests.length).toBe(before);
  });
});
