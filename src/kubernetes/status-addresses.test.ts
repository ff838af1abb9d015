import { beforeEach, describe, expect, it } from 'vitest';
import { FakeApi, ManualClock, settle } from '../../test/support/kubernetes-api.ts';
import { isLastPod, isPodRunning } from './pods.ts';
import { type AddressOrigin, createStatusAddresses, type StatusAddresses } from './status-addresses.ts';

let clock: ManualClock;
let api: FakeApi;
let told: (readonly string[])[];
let problems: string[];

beforeEach(() => {
  clock = new ManualClock();
  api = new FakeApi(clock);
  told = [];
  problems = [];
});

async function start(origin: AddressOrigin): Promise<StatusAddresses> {
  const addresses = createStatusAddresses({
    client: api,
    origin,
    intervalMs: 60_000,
    clock,
    onAddresses: (list) => told.push(list),
    onProblem: (message) => problems.push(message),
  });
  addresses.start();
  await settle();
  return addresses;
}

const SERVICE = '/api/v1/namespaces/ingress/services/proxy';
const published: AddressOrigin = { kind: 'service', namespace: 'ingress', name: 'proxy' };

function putService(spec: object, loadBalancer: object[] = []): void {
  api.put(SERVICE, { spec, status: { loadBalancer: { ingress: loadBalancer } } });
}

it('are those that are given, sorted and each once', async () => {
  await start({ kind: 'fixed', addresses: ['lb.example.com', '192.0.2.2', '192.0.2.1', '192.0.2.2', '2001:DB8::0:1'] });
  expect(told).toEqual([['192.0.2.1', '192.0.2.2', '2001:db8::1', 'lb.example.com']]);
  expect(api.requests).toEqual([]);
});

describe('of a Service', () => {
  it.each<[string, object, object[], string[]]>([
    [
      'LoadBalancer',
      { type: 'LoadBalancer', clusterIP: '10.96.0.9', externalIPs: ['192.0.2.7', '192.0.2.1'] },
      [{ hostname: 'lb.example.com' }, { ip: '192.0.2.7' }],
      ['192.0.2.1', '192.0.2.7', 'lb.example.com'],
    ],
    ['LoadBalancer without an address yet', { type: 'LoadBalancer', clusterIP: '10.96.0.9' }, [], []],
    ['NodePort', { type: 'NodePort', clusterIP: '10.96.0.9' }, [], ['10.96.0.9']],
    [
      'NodePort with external IPs',
      { type: 'NodePort', clusterIP: '10.96.0.9', externalIPs: ['192.0.2.7'] },
      [],
      ['192.0.2.7'],
    ],
    ['ClusterIP', { type: 'ClusterIP', clusterIP: '10.96.0.9', externalIPs: ['192.0.2.7'] }, [], ['10.96.0.9']],
    ['headless', { type: 'ClusterIP', clusterIP: 'None' }, [], []],
    ['ExternalName', { type: 'ExternalName', externalName: 'edge.example.com' }, [], ['edge.example.com']],
  ])('%s', async (_, spec, loadBalancer, expected) => {
    putService(spec, loadBalancer);
    await start(published);
    expect([told, problems]).toEqual([[expected], []]);
  });

  it('follow it at once, and are told only when they change', async () => {
    putService({ type: 'LoadBalancer' }, [{ ip: '192.0.2.1' }]);
    await start(published);
    putService({ type: 'LoadBalancer', clusterIP: '10.96.0.9' }, [{ ip: '192.0.2.1' }]);
    await settle();
    putService({ type: 'LoadBalancer' }, [{ ip: '192.0.2.2' }]);
    await settle();
    expect(told).toEqual([['192.0.2.1'], ['192.0.2.2']]);
  });

  it('are found out again in each interval, also without a watch', async () => {
    api.watch = async function* () {
      yield* [];
    };
    putService({ type: 'LoadBalancer' }, [{ ip: '192.0.2.1' }]);
    const addresses = await start(published);
    putService({ type: 'LoadBalancer' }, [{ ip: '192.0.2.2' }]);
    await clock.advance(59_000);
    expect(told).toHaveLength(1);
    await clock.advance(1_000);
    expect(told).toEqual([['192.0.2.1'], ['192.0.2.2']]);
    const before = api.requests.length;
    await clock.advance(600_000);
    expect(api.requests.length - before).toBe(10);
    addresses.stop();
    await clock.advance(600_000);
    expect(api.requests.length - before).toBe(10);
  });

  it('stay when the Service cannot be read; the reason is told once', async () => {
    putService({ type: 'LoadBalancer' }, [{ ip: '192.0.2.1' }]);
    await start(published);
    api.fault = () => ({ status: 403, body: { message: 'services is forbidden' } });
    await clock.advance(600_000);
    api.fault = () => undefined;
    api.remove(SERVICE);
    await clock.advance(600_000);
    expect(told).toEqual([['192.0.2.1']]);
    expect(problems).toEqual([
      'Service ingress/proxy: The API server answered 403: services is forbidden; the status of Ingresses keeps the addresses before',
      expect.stringContaining('The API server answered 404'),
    ]);
    putService({ type: 'LoadBalancer' }, [{ ip: '192.0.2.2' }]);
    await settle();
    expect(told).toHaveLength(2);
  });
});

const PODS = '/api/v1/namespaces/ingress/pods';
const own = { namespace: 'ingress', name: 'a' };
const labels = { app: 'proxy', 'pod-template-hash': 'one' };

function putPod(
  name: string,
  nodeName: string,
  more: { ready?: boolean; phase?: string; labels?: object; ending?: boolean } = {},
) {
  api.put(`${PODS}/${name}`, {
    metadata: { labels: more.labels ?? labels, ...(more.ending && { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
    spec: { nodeName },
    status: {
      phase: more.phase ?? 'Running',
      conditions: [{ type: 'Ready', status: more.ready === false ? 'False' : 'True' }],
    },
  });
}

function putNode(name: string, ...addresses: [type: string, address: string][]): void {
  api.put(`/api/v1/nodes/${name}`, { status: { addresses: addresses.map(([type, address]) => ({ type, address })) } });
}

describe('of nodes', () => {
  const nodes = (internal = false): AddressOrigin => ({ kind: 'nodes', pod: own, internal });

  beforeEach(() => {
    putNode('n1', ['InternalIP', '10.0.0.1'], ['ExternalIP', '192.0.2.1'], ['Hostname', 'n1']);
    putNode('n2', ['InternalIP', '10.0.0.2']);
    putPod('a', 'n1');
  });

  it('are those on which pods with our labels are ready, also of another revision', async () => {
    putPod('b', 'n2', { labels: { ...labels, 'pod-template-hash': 'two' } });
    putNode('n3', ['ExternalIP', '192.0.2.3']);
    putPod('unready', 'n3', { ready: false });
    putPod('done', 'n3', { phase: 'Succeeded' });
    putPod('ending', 'n3', { ending: true });
    putPod('other', 'n3', { labels: { app: 'shop' } });
    putPod('homeless', 'gone');
    await start(nodes());
    expect([told, problems]).toEqual([[['10.0.0.2', '192.0.2.1']], []]);
  });

  it('are internal ones if wished', async () => {
    putPod('b', 'n2');
    await start(nodes(true));
    expect(told).toEqual([['10.0.0.1', '10.0.0.2']]);
  });

  it('appear soon after our pod has become ready, and stay while none is', async () => {
    putPod('a', 'n1', { ready: false });
    await start(nodes());
    expect(told).toEqual([]);
    putPod('a', 'n1');
    await clock.advance(5_000);
    expect(told).toEqual([['192.0.2.1']]);
    putPod('a', 'n1', { ready: false });
    await clock.advance(300_000);
    expect(told).toHaveLength(1);
    putPod('a', 'n2');
    await clock.advance(120_000);
    expect(told).toEqual([['192.0.2.1'], ['10.0.0.2']]);
  });
});

describe('the last pod', () => {
  beforeEach(() => putPod('a', 'n1', { ending: true }));

  it.each<[string, boolean, () => void]>([
    ['is alone', true, () => {}],
    ['others that end too do not count', true, () => putPod('b', 'n2', { ending: true })],
    ['others that wait for a node do not count', true, () => putPod('b', '', { phase: 'Pending' })],
    ['other applications do not count', true, () => putPod('b', 'n2', { labels: { app: 'shop' } })],
    ['another one runs', false, () => putPod('b', 'n2', { ready: false })],
    [
      'another one runs since a rolling update',
      false,
      () => putPod('b', 'n2', { labels: { app: 'proxy', 'pod-template-hash': 'two' } }),
    ],
    [
      'nobody knows',
      false,
      () => {
        api.fault = () => ({ status: 403 });
      },
    ],
  ])('%s: %s', async (_, expected, arrange) => {
    arrange();
    expect(await isLastPod(api, own)).toBe(expected);
  });

  it('is not waited for longer than some seconds', async () => {
    api.fault = () => 'hang';
    const asked = isLastPod(api, own);
    await clock.advance(3_000);
    expect(await asked).toBe(false);
  });
});

describe('another pod', () => {
  it.each<[string, boolean, () => void]>([
    ['is to stay', true, () => putPod('b', 'n2', { ready: false })],
    ['ends', false, () => putPod('b', 'n2', { ending: true })],
    ['is gone', false, () => {}],
  ])('%s: %s', async (_, expected, arrange) => {
    arrange();
    expect(await isPodRunning(api, { ...own, name: 'b' })).toBe(expected);
  });

  it('of which nothing can be found out is an error', async () => {
    api.fault = () => ({ status: 403 });
    await expect(isPodRunning(api, own)).rejects.toThrow('403');
  });
});
